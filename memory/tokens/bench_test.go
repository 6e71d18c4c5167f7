package tokens

import "testing"

func BenchmarkDocument(b *testing.B) {
	const text = "Melanie: We went camping in the mountains last weekend, the kids loved it! 直播间今天开场先聊十分钟，再上链接，優惠券只給老客户。"
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Document(text)
	}
}
