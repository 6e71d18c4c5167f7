package lint

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
)

// parseJSON accepts exactly one value. The standard library's check takes no
// stack and bounds the depth at 10,000.
func parseJSON(content []byte) []Finding {
	var whole json.RawMessage
	err := json.Unmarshal(content, &whole)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &syntax):
		return []Finding{finding(0, 0, "not JSON: %v", err)}
	case int(syntax.Offset) >= len(content) && !json.Valid(content) && endsEarly(syntax):
		return []Finding{at(content, len(content), "not JSON: %v", syntax)}
	}
	return []Finding{at(content, int(syntax.Offset)-1, "not JSON: %v", syntax)}
}

// endsEarly reports whether the value was not whole, so that the place is the
// end and not the last byte.
func endsEarly(err *json.SyntaxError) bool { return err.Error() == "unexpected end of JSON input" }

// parseCSV accepts rows of one width, by RFC 4180. Rows of another width are
// findings each; a quote out of place ends the look, since where the rows after
// it begin is not known.
func parseCSV(content []byte, comma rune) []Finding {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")) // as spreadsheets write it
	r := csv.NewReader(bytes.NewReader(content))
	r.Comma, r.ReuseRecord = comma, true
	var found []Finding
	for width := 0; len(found) < MaxFindings; {
		record, err := r.Read()
		var wrong *csv.ParseError
		switch {
		case err == io.EOF:
			return found
		case err == nil:
			width = len(record)
		case errors.Is(err, csv.ErrFieldCount) && errors.As(err, &wrong):
			found = append(found, finding(wrong.Line, 0, "the row has %d fields, and the first has %d", len(record), max(width, r.FieldsPerRecord)))
		case errors.As(err, &wrong) && wrong.StartLine < wrong.Line:
			return append(found, finding(wrong.StartLine, 0, "not CSV: a quote that opens in this row closes late or never: %v", wrong.Err))
		case errors.As(err, &wrong):
			return append(found, finding(wrong.Line, columnOf(content, wrong), "not CSV: %v", wrong.Err))
		default:
			return append(found, finding(0, 0, "not CSV: %v", err))
		}
	}
	return found
}

// columnOf gives the place of an error in characters; the library counts bytes.
func columnOf(content []byte, wrong *csv.ParseError) int {
	line := content
	for range wrong.Line - 1 {
		_, line, _ = bytes.Cut(line, []byte("\n"))
	}
	return at(line, min(wrong.Column-1, len(line)), "").Column
}
