package precheck

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
)

// A sarifReport is SARIF 2.1.0, which GitHub and editors show beside the code.
type sarifReport struct {
	w       io.Writer
	results []sarifResult
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifRule struct {
	ID            string    `json:"id"`
	Short         sarifText `json:"shortDescription"`
	Full          sarifText `json:"fullDescription"`
	Help          sarifText `json:"help"`
	Configuration struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

func sarifLevel(s Severity) string {
	if s == Failure {
		return "error"
	}
	return "warning"
}

func (r *sarifReport) Tell(m Message) error {
	if m.Kind != Found {
		return nil
	}
	f := m.Finding
	result := sarifResult{RuleID: m.Rule, Level: sarifLevel(f.Severity), Message: sarifText{sentence(f)}, Fingerprints: map[string]string{"precheck/v1": fingerprint(m)}}
	var at sarifLocation
	at.Physical.Artifact.URI = uriOf(fileOf(m))
	if f.Line > 0 {
		at.Physical.Region = &sarifRegion{f.Line}
	}
	result.Locations = []sarifLocation{at}
	if f.Waived != "" {
		result.Suppressions = []sarifSuppression{{"external", f.Waived}}
	}
	r.results = append(r.results, result)
	return nil
}

func (r *sarifReport) Close() error {
	var rules []sarifRule
	for _, rule := range rulesInUse() {
		s := sarifRule{ID: rule.ID, Short: sarifText{rule.Title}, Full: sarifText{rule.Reason}, Help: sarifText{rule.Mend}}
		s.Configuration.Level = sarifLevel(rule.Severity)
		rules = append(rules, s)
	}
	results := r.results
	if results == nil {
		results = []sarifResult{}
	}
	return json.NewEncoder(r.w).Encode(map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool":    map[string]any{"driver": map[string]any{"name": "precheck", "informationUri": "https://github.com/sluicehq/sluice", "rules": rules}},
			"results": results,
		}},
	})
}

// uriOf gives a path as a relative reference.
func uriOf(file string) string {
	escaped := strings.NewReplacer("%", "%25", " ", "%20", "#", "%23", "?", "%3F", ":", "%3A").Replace(filepath.ToSlash(file))
	return escaped
}

// fingerprint names a finding from one run to the next, whatever line it moves to.
func fingerprint(m Message) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{m.Rule, fileOf(m), m.Finding.Tool, m.Finding.Field, m.Finding.Message}, "\x00")))
	return hex.EncodeToString(sum[:16])
}
