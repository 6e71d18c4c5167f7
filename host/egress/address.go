package egress

import (
	"fmt"
	"net/netip"
	"slices"
)

// A closedRange is a range of addresses that no skill may reach.
type closedRange struct {
	prefix netip.Prefix
	kind   string // for messages: "a ... address"
	opens  opening
}

// An opening says how an operator can open a closed range.
type opening int

const (
	byRange   opening = iota // any range in it
	byAddress                // one address at a time: the machine itself, and what gives its credentials to whoever asks
	never                    // not at all: nothing there is a server
)

// A guard tells closed addresses from open ones. It does not change and is safe
// for concurrent use.
type guard struct {
	closed []closedRange // narrower before wider
	allow  []netip.Prefix
}

// closedRanges follows the IANA IPv4 and IPv6 Special-Purpose Address
// Registries. Ranges that are there but hold public services (AS112 and the
// like) are closed as well where they lie inside a closed one: no shop is there.
func closedRanges() []closedRange {
	open := func(prefix, kind string) closedRange {
		return closedRange{netip.MustParsePrefix(prefix), kind, byRange}
	}
	exact := func(prefix, kind string) closedRange {
		return closedRange{netip.MustParsePrefix(prefix), kind, byAddress}
	}
	never := func(prefix, kind string) closedRange { return closedRange{netip.MustParsePrefix(prefix), kind, never} }
	return []closedRange{
		never("0.0.0.0/8", "unspecified"), // Linux takes 0.0.0.0 for loopback
		open("10.0.0.0/8", "private"),
		exact("100.100.100.200/32", "metadata"), // Alibaba's
		open("100.64.0.0/10", "shared"),         // RFC 6598
		exact("127.0.0.0/8", "loopback"),
		exact("168.63.129.16/32", "platform"), // Azure's wire server: public by number, inside by nature
		exact("169.254.0.0/16", "link-local"), // the clouds' metadata
		open("172.16.0.0/12", "private"),
		exact("192.0.0.192/32", "metadata"), // Oracle's
		open("192.0.0.0/24", "reserved"),    // protocol assignments
		open("192.0.2.0/24", "documentation"),
		open("192.88.99.0/24", "6to4 relay"),
		open("192.168.0.0/16", "private"),
		open("198.18.0.0/15", "benchmarking"),
		open("198.51.100.0/24", "documentation"),
		open("203.0.113.0/24", "documentation"),
		never("224.0.0.0/4", "multicast"),
		never("255.255.255.255/32", "broadcast"),
		open("240.0.0.0/4", "reserved"),

		never("::/128", "unspecified"),
		exact("::1/128", "loopback"),
		never("::/96", "IPv4-compatible"),
		never("::ffff:0:0:0/96", "IPv4-translated"), // RFC 2765; the mapped ones are taken as IPv4
		open("64:ff9b:1::/48", "local NAT64"),       // where the IPv4 lies in it is each network's own affair
		never("100::/64", "discard-only"),
		never("2001::/32", "Teredo"),
		open("2001::/23", "reserved"), // protocol assignments, benchmarking, ORCHID
		open("2001:db8::/32", "documentation"),
		never("2002::/16", "6to4"),
		open("3fff::/20", "documentation"),
		open("5f00::/16", "segment routing"),
		exact("fd00:ec2::/32", "metadata"), // Amazon's
		open("fc00::/7", "unique local"),
		exact("fe80::/10", "link-local"),
		open("fec0::/10", "site-local"),
		never("ff00::/8", "multicast"),
	}
}

// newGuard refuses what an operator can hardly mean: a range that is wider than
// one closed range, or that is open anyway, or all of a machine's own addresses.
// A range around a metadata address does not open that.
func newGuard(allow []netip.Prefix) (*guard, error) {
	g := &guard{closed: closedRanges(), allow: slices.Clone(allow)}
	for _, p := range allow {
		if !p.IsValid() || p.Addr().Is4In6() || p != p.Masked() {
			return nil, fmt.Errorf("%v is not a range of addresses; write one such as 10.1.0.0/16", p)
		}
		i := slices.IndexFunc(g.closed, func(c closedRange) bool { return c.prefix.Bits() <= p.Bits() && c.prefix.Contains(p.Addr()) })
		if i < 0 {
			return nil, fmt.Errorf("%v is not inside one closed range; name ranges such as 10.1.0.0/16, one by one", p)
		}
		switch c := g.closed[i]; {
		case c.opens == never:
			return nil, fmt.Errorf("%v is %s and cannot be opened", p, c.kind)
		case c.opens == byAddress && !p.IsSingleIP():
			return nil, fmt.Errorf("%v is %s, which is opened one address at a time; name it such as %v", p, c.kind, netip.PrefixFrom(p.Addr(), p.Addr().BitLen()))
		}
	}
	return g, nil
}

// closes gives the kind of a closed address, and "" for one that may be
// reached.
func (g *guard) closes(a netip.Addr) string {
	if !a.IsValid() || a.Zone() != "" {
		return "zoned"
	}
	a = a.Unmap()
	kind, opens := g.kindOf(a)
	if slices.ContainsFunc(g.allow, func(p netip.Prefix) bool {
		return p.Contains(a) && (opens == byRange || opens == byAddress && p.IsSingleIP())
	}) {
		return ""
	}
	return kind
}

// kindOf gives the kind of an address that is not public.
func (g *guard) kindOf(a netip.Addr) (kind string, opens opening) {
	for _, c := range g.closed {
		if c.prefix.Contains(a) {
			return c.kind, c.opens
		}
	}
	if a.Is4() {
		return "", byRange
	}
	inner, nat64 := embedded(a)
	if inner.IsValid() {
		if kind, _ := g.kindOf(inner); kind != "" {
			return kind + ", embedded", never
		}
	}
	// Of IPv6 only 2000::/3 is given out; the rest waits for a meaning.
	if !nat64 && a.As16()[0]>>5 != 1 {
		return "reserved", never
	}
	return "", byRange
}

// embedded gives the IPv4 address that a gateway would make of an IPv6 one: of
// NAT64's well-known prefix 64:ff9b::/96 (RFC 6052), or of ISATAP's interface
// identifier (RFC 5214).
func embedded(a netip.Addr) (inner netip.Addr, nat64 bool) {
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	if [12]byte(b[:12]) == [12]byte{0, 0x64, 0xff, 0x9b} {
		return last, true
	}
	if b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		return last, false
	}
	return netip.Addr{}, false
}
