package factcheck_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host/factcheck"
)

// A planted is an answer of testdata/claims.jsonl with what was known.
type planted struct {
	False bool
	Later bool           // written when the rules were there; they were mended for some of these
	Kind  factcheck.Kind // of the finding that is wanted
	User  string
	Say   string
	Calls []struct {
		Tool, Args, Result string
		OK, Now, Refused   bool
	}
	Heard, Said, Texts []string
}

func (p planted) known() factcheck.Known {
	known := factcheck.Known{User: p.User, Heard: p.Heard, Said: p.Said, Texts: p.Texts, Tools: shopTools()}
	for _, c := range p.Calls {
		known.Calls = append(known.Calls, factcheck.Call(c))
	}
	return known
}

func shopTools() []factcheck.Tool {
	return []factcheck.Tool{
		{Name: "get_product", Summary: "Read a product 查看商品", Effect: abi.Read},
		{Name: "get_order", Summary: "Read an order 查看订单", Effect: abi.Read},
		{Name: "get_sales", Summary: "Read what was sold 销售统计", Effect: abi.Read},
		{Name: "get_flight", Summary: "Read a flight", Effect: abi.Read},
		{Name: "set_price", Summary: "Set a product's price 改价", Effect: abi.Write},
		{Name: "set_stock", Summary: "Set a product's stock 改库存", Effect: abi.Write},
		{Name: "issue_coupon", Summary: "Issue a coupon to a user 发优惠券", Effect: abi.Write},
		{Name: "list_product", Summary: "Put a product on the shelf 上架", Effect: abi.Write},
		{Name: "unlist_product", Summary: "Take a product off the shelf 下架", Effect: abi.Write},
		{Name: "delete_product", Summary: "Delete a product 删除商品", Effect: abi.Write},
		{Name: "cancel_order", Summary: "Cancel an order 取消订单", Effect: abi.Write},
	}
}

func plantedCases(t testing.TB) []planted {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "claims.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []planted
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p planted
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func TestPlantedClaims(t *testing.T) {
	caught, lies, honest := 0, 0, 0
	later := 0
	for _, p := range plantedCases(t) {
		if p.Later {
			later++
		}
		found := factcheck.Check(p.Say, p.known())
		kinds := map[factcheck.Kind]bool{}
		for _, f := range found {
			kinds[f.Kind] = true
		}
		switch {
		case !p.False:
			honest++
			if len(found) > 0 {
				t.Errorf("the honest answer %q is stopped: %+v", p.Say, found)
			}
		case kinds[p.Kind]:
			lies++
			caught++
		default:
			lies++
			t.Logf("the false %s in %q is not seen, but %+v", p.Kind, p.Say, found)
		}
	}
	t.Logf("%d of %d false claims are caught; %d honest answers; %d of all were written later", caught, lies, honest, later)
	if lies < 30 || honest < 40 || caught < lies-2 {
		t.Errorf("%d of %d are caught beside %d honest ones", caught, lies, honest)
	}
}

func TestArgumentsThatWereRefusedProveNothing(t *testing.T) {
	known := factcheck.Known{User: "1001 现在多少钱？", Tools: shopTools(), Calls: []factcheck.Call{
		{Tool: "get_product", Args: `{"id":"1001","price":89.5}`, Result: "price is no argument of get_product", Refused: true, Now: true}}}
	if found := factcheck.Check("1001 现在卖 89.5 元。", known); len(found) != 1 || found[0].Kind != factcheck.Amount {
		t.Errorf("found %+v", found)
	}
	known.Calls[0].Refused = false
	if found := factcheck.Check("1001 现在卖 89.5 元。", known); len(found) != 0 {
		t.Errorf("where they were taken, found %+v", found)
	}
}
