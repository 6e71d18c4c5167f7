package egress

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

func TestOnlyPublicAddressesAreOpen(t *testing.T) {
	g, err := newGuard(nil)
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "10.0.0.1": "private", "10.255.255.255": "private", "172.16.0.1": "private", "172.31.255.255": "private",
		"192.168.0.1": "private", "127.0.0.1": "loopback", "127.255.255.254": "loopback", "169.254.169.254": "link-local", "100.64.0.1": "shared", "100.100.100.200": "metadata",
		"168.63.129.16": "platform", "192.0.0.192": "metadata", "192.0.0.191": "reserved", "192.0.2.1": "documentation", "198.51.100.1": "documentation", "203.0.113.9": "documentation",
		"198.18.0.1": "benchmarking", "198.19.255.255": "benchmarking", "192.88.99.1": "6to4 relay", "224.0.0.1": "multicast", "239.255.255.255": "multicast",
		"240.0.0.1": "reserved", "255.255.255.255": "broadcast",
		"::": "unspecified", "::1": "loopback", "::7f00:1": "IPv4-compatible", "::808:808": "IPv4-compatible", "::ffff:127.0.0.1": "loopback", "::ffff:10.0.0.1": "private",
		"::ffff:169.254.169.254": "link-local", "::ffff:0:127.0.0.1": "IPv4-translated", "64:ff9b::7f00:1": "loopback, embedded", "64:ff9b::a9fe:a9fe": "link-local, embedded",
		"64:ff9b:1::1": "local NAT64", "64:ff9b:1::808:808": "local NAT64", "64:ff9b:2::1": "reserved", "100::1": "discard-only", "2001::1": "Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2": "Teredo",
		"2001:2::1": "reserved", "2001:10::1": "reserved", "2001:db8::1": "documentation", "3fff::1": "documentation", "2002:7f00:1::": "6to4", "2002:808:808::1": "6to4",
		"2a00:1450::5efe:a00:1": "private, embedded", "2a00:1450::200:5efe:7f00:1": "loopback, embedded",
		"fc00::1": "unique local", "fd00:ec2::254": "metadata", "fd00:ec3::254": "unique local", "fe80::1": "link-local", "fe80::1%eth0": "zoned", "2a00:1450::1%eth0": "zoned", "febf::1": "link-local", "fec0::1": "site-local",
		"ff02::1": "multicast", "5f00::1": "segment routing", "1::1": "reserved", "4000::1": "reserved", "fe00::1": "reserved",
		"8.8.8.8": "", "1.1.1.1": "", "9.255.255.255": "", "11.0.0.0": "", "100.63.255.255": "", "100.128.0.0": "", "172.15.255.255": "", "172.32.0.0": "", "223.255.255.255": "",
		"::ffff:8.8.8.8": "", "64:ff9b::808:808": "", "2a00:1450::5efe:808:808": "", "2a00:1450:4001:81b::200e": "", "2606:4700::1111": "", "2001:4860:4860::8888": "", "3ffe::1": "",
	} {
		if got := g.closes(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is %q, want %q", address, got, want)
		}
	}
	if g.closes(netip.Addr{}) == "" {
		t.Error("no address is open")
	}
}

func TestAnOperatorOpensNamedRangesOnly(t *testing.T) {
	g, err := newGuard([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd12::/16"), netip.MustParsePrefix("169.254.169.254/32")})
	if err != nil {
		t.Fatal(err)
	}
	for address, open := range map[string]bool{
		"10.1.0.1": true, "::ffff:10.1.0.1": true, "10.2.0.1": false, "fd12::1": true, "fd13::1": false, "169.254.169.254": true, "169.254.169.253": false,
		"64:ff9b::a01:1": false, "2a00:1450::5efe:a01:1": false, "fd12::1%eth0": false, "8.8.8.8": true,
	} {
		if got := g.closes(netip.MustParseAddr(address)) == ""; got != open {
			t.Errorf("%s is open: %v, want %v", address, got, open)
		}
	}
	for text, want := range map[string]string{
		"0.0.0.0/0": "not inside one closed range", "::/0": "not inside", "10.0.0.0/7": "not inside", "8.8.8.0/24": "not inside", "1::/16": "not inside", "2001:4860::/32": "not inside",
		"0.0.0.0/8": "cannot be opened", "224.0.0.1/32": "cannot be opened", "255.255.255.255/32": "cannot be opened", "::/128": "cannot be opened", "2002:a00::/24": "cannot be opened",
		"ff02::/16": "cannot be opened", "10.1.2.3/16": "is not a range", "::ffff:10.0.0.0/104": "is not a range",
	} {
		_, err := New(Config{Allow: []netip.Prefix{netip.MustParsePrefix(text)}})
		if err == nil || !strings.Contains(err.Error(), want) || host.ProblemOf(err).Code != abi.BadValue {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := New(Config{Allow: []netip.Prefix{{}}}); err == nil {
		t.Error("an empty range was taken")
	}
}

// TestARangeDoesNotOpenWhatLiesInItAndIsNamedByAddress: the private network of a
// shop is opened, and the machine's credentials are not with it.
func TestARangeDoesNotOpenWhatLiesInItAndIsNamedByAddress(t *testing.T) {
	prefixes := func(texts ...string) (list []netip.Prefix) {
		for _, text := range texts {
			list = append(list, netip.MustParsePrefix(text))
		}
		return list
	}
	wide := prefixes("100.64.0.0/10", "192.0.0.0/24", "fc00::/7")
	for _, tt := range []struct {
		allow []netip.Prefix
		open  map[string]bool
	}{
		{wide, map[string]bool{"100.64.0.1": true, "100.100.100.200": false, "192.0.0.170": true, "192.0.0.192": false, "fd00::1": true, "fd00:ec2::254": false, "fd00:ec2::23": false}},
		{append(wide, prefixes("100.100.100.200/32", "fd00:ec2::254/128")...), map[string]bool{"100.100.100.200": true, "192.0.0.192": false, "fd00:ec2::254": true, "fd00:ec2::23": false}},
		{prefixes("127.0.0.1/32", "169.254.170.2/32", "::1/128"), map[string]bool{"127.0.0.1": true, "127.0.0.2": false, "169.254.170.2": true, "169.254.169.254": false, "::1": true}},
	} {
		g, err := newGuard(tt.allow)
		if err != nil {
			t.Fatal(err)
		}
		for address, open := range tt.open {
			if got := g.closes(netip.MustParseAddr(address)) == ""; got != open {
				t.Errorf("with %v %s is open: %v, want %v", tt.allow, address, got, open)
			}
		}
	}
	for _, text := range []string{"127.0.0.0/8", "127.0.0.0/31", "169.254.0.0/16", "169.254.169.254/31", "fe80::/10", "fd00:ec2::/32", "fd00:ec2::/64"} {
		if _, err := newGuard(prefixes(text)); err == nil || !strings.Contains(err.Error(), "one address at a time") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestTheSocketsOwnAddressIsChecked: whatever was looked up before.
func TestTheSocketsOwnAddressIsChecked(t *testing.T) {
	g, _ := newGuard(nil)
	d := newDialer(Config{}, g, nil)
	for address, open := range map[string]bool{"127.0.0.1:80": false, "[::ffff:10.0.0.1]:443": false, "[fe80::1%lo]:80": false, "no address": false, "8.8.8.8:53": true} {
		err := d.control("tcp", address, nil)
		if (err == nil) != open {
			t.Errorf("%s: %v", address, err)
		}
	}
	// Past the look-up, by the real dialer: the socket refuses.
	_, err := d.connect(t.Context(), netip.MustParseAddrPort("127.0.0.1:9"))
	var problem *abi.Problem
	if !errors.As(err, &problem) || problem.Code != abi.ClosedAddress {
		t.Errorf("connecting to loopback gave %v", err)
	}
}
