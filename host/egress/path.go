package egress

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// normalPath gives the one form of a path that is matched and sent: what need
// not be escaped is not, the rest is in capitals (RFC 3986, 6.2.2). It refuses
// what servers are known to read differently: dot segments, empty segments, a
// slash, dot, semicolon, backslash or control byte in disguise, text that is
// escaped twice, and bytes that are not UTF-8 (an overlong dot is one of them).
func normalPath(raw string) (string, error) {
	if raw == "" {
		return "/", nil
	}
	var path, plain strings.Builder
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '%' {
			if !pathByte(c) {
				return "", fmt.Errorf("its path holds %q, which has to be escaped", string(rune(c)))
			}
			path.WriteByte(c)
			plain.WriteByte(c)
			continue
		}
		c, ok := unescape(raw[i:])
		if !ok {
			return "", errors.New("its path holds a % that is no escape")
		}
		if c < ' ' || c == 0x7f || strings.IndexByte(`/.;\`, c) >= 0 {
			return "", fmt.Errorf("its path holds %s, which servers read differently", raw[i:i+3])
		}
		i += 2
		plain.WriteByte(c)
		if unreserved(c) {
			path.WriteByte(c)
		} else {
			fmt.Fprintf(&path, "%%%02X", c)
		}
	}
	if err := checkPlain(plain.String()); err != nil {
		return "", err
	}
	return path.String(), checkSegments(path.String())
}

// checkPlain refuses an unescaped path that would be another one if it were
// unescaped again, or that is not text.
func checkPlain(plain string) error {
	for i := range len(plain) {
		if plain[i] != '%' {
			continue
		}
		if _, twice := unescape(plain[i:]); twice {
			return errors.New("its path is escaped twice")
		}
	}
	if !utf8.ValidString(plain) {
		return errors.New("its path is not UTF-8")
	}
	return nil
}

// checkSegments takes what follows a semicolon for a parameter, as Java's
// servers do: /..;x/ is /../ to them.
func checkSegments(path string) error {
	if path[0] != '/' {
		return errors.New("its path does not begin with /")
	}
	segments := strings.Split(path, "/")[1:]
	for i, segment := range segments {
		switch name, _, _ := strings.Cut(segment, ";"); {
		case name == "." || name == "..":
			return errors.New("its path leads upwards or nowhere (. or ..)")
		case name == "" && (segment != "" || i < len(segments)-1):
			return errors.New("its path has an empty segment")
		}
	}
	return nil
}

// unescape reads the escape that text begins with.
func unescape(text string) (byte, bool) {
	if len(text) < 3 {
		return 0, false
	}
	high, ok1 := hexDigit(text[1])
	low, ok2 := hexDigit(text[2])
	return high<<4 | low, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

func unreserved(c byte) bool { return alphanumeric(c) || strings.IndexByte("-._~", c) >= 0 }

// pathByte reports whether c may stand in a path as it is (RFC 3986, pchar).
func pathByte(c byte) bool { return unreserved(c) || strings.IndexByte("/!$&'()*+,;=:@", c) >= 0 }
