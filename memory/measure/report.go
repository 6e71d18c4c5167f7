package measure

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report is what was measured, for people and for programs.
type Report struct {
	Recalled []Recalled `json:"recalled,omitempty"`
	Scaled   *Scaled    `json:"scaled,omitempty"`
	Kept     *Kept      `json:"kept,omitempty"`
	Rows     []Row      `json:"rows"`
}

// A Row is one figure beside what it must be and what it should be. Of a figure
// without either both are 0.
type Row struct {
	Measure string  `json:"measure"`
	Of      string  `json:"of,omitempty"` // the half of the questions
	Value   float64 `json:"value"`
	Must    float64 `json:"must,omitempty"`
	Aim     float64 `json:"aim,omitempty"`
	Unit    string  `json:"unit,omitempty"`    // "ms", "s", "MB"; of shares none
	AtMost  bool    `json:"at_most,omitempty"` // must and aim are upper bounds
}

// NewReport makes the rows. Scaled and kept may be nil.
func NewReport(recalled []Recalled, scaled *Scaled, kept *Kept) Report {
	r := Report{Recalled: recalled, Scaled: scaled, Kept: kept}
	for _, folder := range recalled {
		r.Rows = append(r.Rows, folder.rows()...)
	}
	if scaled != nil {
		r.Rows = append(r.Rows, scaled.rows()...)
	}
	if kept != nil {
		r.Rows = append(r.Rows, kept.rows()...)
	}
	return r
}

// A goal is what figures must be and should be.
type goal struct{ must, aim float64 }

// goals are those of known folders, by name. Others are measured without.
func goals(folder string) (at5, at10, sessions goal) {
	switch folder {
	case "locomo":
		return goal{0.65, 0.70}, goal{0.74, 0.79}, goal{0.92, 0.94}
	case "cmrc2018":
		return goal{0.99, 0.995}, goal{}, goal{}
	}
	return goal{}, goal{}, goal{}
}

func (r Recalled) rows() (rows []Row) {
	at5, at10, sessions := goals(r.Folder)
	for _, half := range []Half{All, Tuned, HeldOut} {
		f, ok := r.Halves[half]
		if !ok {
			continue
		}
		of := fmt.Sprintf("%s (%d)", half, f.Questions)
		rows = append(rows,
			Row{Measure: r.Folder + " recall@5", Of: of, Value: f.At5, Must: at5.must, Aim: at5.aim},
			Row{Measure: r.Folder + " recall@10", Of: of, Value: f.At10, Must: at10.must, Aim: at10.aim})
		if r.Sessions {
			rows = append(rows,
				Row{Measure: r.Folder + " sessions hit@5, of a list of sessions", Of: of, Value: f.SessionsAt5, Must: sessions.must, Aim: sessions.aim},
				Row{Measure: r.Folder + " sessions hit in a recall's 10", Of: of, Value: f.SessionsIn10})
		}
	}
	return rows
}

func (s *Scaled) rows() []Row {
	return costs(s.Size, []Row{
		{Measure: "index: one user's search, p95", Value: ms(s.OneUser), Must: 10, Aim: 5, Unit: "ms"},
		{Measure: "index: all users' search, p95", Value: ms(s.AllUsers), Must: 60, Aim: 30, Unit: "ms"},
		{Measure: "index: write, p95", Value: ms(s.Put), Must: 5, Aim: 2, Unit: "ms"},
		{Measure: "index: fill", Value: s.Rebuild.Seconds(), Must: 5, Aim: 2, Unit: "s"},
		{Measure: "index: heap", Value: float64(s.Heap) / 1e6, Must: 80, Aim: 40, Unit: "MB"},
	}, Row{Measure: "index: foreign memories found", Of: fmt.Sprintf("%d questions", s.Asked), Value: float64(s.Foreign), AtMost: true})
}

// rows have the bounds of the index: nobody waits for that alone.
func (k *Kept) rows() []Row {
	return costs(k.Size, []Row{
		{Measure: "one user's recall, p95", Value: ms(k.OneUser), Must: 10, Aim: 5, Unit: "ms"},
		{Measure: "all users' recall, p95", Value: ms(k.AllUsers), Must: 60, Aim: 30, Unit: "ms"},
		{Measure: "remember, p95", Value: ms(k.Remember), Must: 5, Aim: 2, Unit: "ms"},
		{Measure: "rebuild from the truth", Value: k.Rebuild.Seconds(), Must: 5, Aim: 2, Unit: "s"},
	}, Row{Measure: "foreign memories recalled", Of: fmt.Sprintf("%d questions", k.Asked), Value: float64(k.Foreign), AtMost: true})
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// costs gives the rows of times and memory, whose bounds are those of the usual size, and
// then the one that holds for any.
func costs(size Size, rows []Row, foreign Row) []Row {
	for i := range rows {
		rows[i].AtMost = true
		rows[i].Of = fmt.Sprintf("%d memories", size.Memories)
		if size.Memories != Usual().Memories || size.Users != Usual().Users {
			rows[i].Must, rows[i].Aim = 0, 0
		}
	}
	return append(rows, foreign)
}

// Missed reports whether the figure is not what it must be.
func (r Row) Missed() bool { return r.misses(r.Must) }

func (r Row) misses(bound float64) bool {
	if r.AtMost {
		return r.Value > bound && (bound > 0 || r.Unit == "")
	}
	return r.Value < bound
}

// verdict tells how a figure stands.
func (r Row) verdict() string {
	switch {
	case r.Missed():
		return "MISSED"
	case r.Must == 0 && r.Unit != "" || r.Must == 0 && !r.AtMost:
		return ""
	case r.misses(r.Aim):
		return "must"
	}
	return "aim"
}

// Write writes the table.
func (r Report) Write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "measure\tof\tvalue\tmust\taim\treached")
	for _, row := range r.Rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", row.Measure, row.Of, row.number(row.Value), row.bound(row.Must), row.bound(row.Aim), row.verdict())
	}
	return table.Flush()
}

// number writes shares with three decimals, counts with none, and what has a unit
// with as many as it deserves.
func (r Row) number(value float64) string {
	switch {
	case r.Unit != "" && value < 10:
		return fmt.Sprintf("%.2f %s", value, r.Unit)
	case r.Unit != "":
		return fmt.Sprintf("%.0f %s", value, r.Unit)
	case r.AtMost:
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.3f", value)
}

func (r Row) bound(value float64) string {
	if value == 0 && (r.Unit != "" || !r.AtMost) {
		return ""
	}
	return strings.TrimSuffix(r.number(value), " "+r.Unit)
}
