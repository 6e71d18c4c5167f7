package rewrite

import "github.com/sluicehq/sluice/abi"

// corrupt says what is wrong with a module and where.
func corrupt(section string, offset int, format string, args ...any) *abi.Problem {
	p := abi.NewProblem(abi.CorruptModule, format, args...)
	p.Message = "the module cannot be used: " + at(section, offset) + p.Message
	return p
}

func at(section string, offset int) string {
	switch {
	case section == "":
		return ""
	case offset < 0:
		return section + ": "
	}
	return abi.NewProblem(0, "%s, byte %d: ", section, offset).Message
}

// unsupported names the feature that a module needs and the flag by which its
// toolchain leaves it out.
func unsupported(section string, offset int, f feature) *abi.Problem {
	return corrupt(section, offset, "it needs %s, which this host does not run", f.name).WithHint("%s", f.remedy)
}
