package text

// Find gives the command of a name. It runs with what it is given and gives
// its exit status; what it has to say goes to Err. It never fails in another
// way, but by Budget.Stop.
func Find(name string) (run func(*Env, []string) int, ok bool) {
	switch name {
	case "cat":
		run = cat
	case "cut":
		run = cut
	case "echo":
		run = echo
	case "egrep":
		run = egrep
	case "false":
		run = func(*Env, []string) int { return 1 }
	case "fgrep":
		run = fgrep
	case "grep":
		run = grep
	case "head":
		run = head
	case "paste":
		run = paste
	case "printf":
		run = printf
	case "replace":
		run = replace
	case "rev":
		run = rev
	case "sed":
		run = sed
	case "seq":
		run = seq
	case "sort":
		run = sortLines
	case "tac":
		run = tac
	case "tail":
		run = tail
	case "test", "[":
		run = test
	case "tr":
		run = tr
	case "true", ":":
		run = func(*Env, []string) int { return 0 }
	case "uniq":
		run = uniq
	case "wc":
		run = wc
	}
	return run, run != nil
}

// Names gives the names of the commands that there are, for people.
func Names() []string {
	return []string{"cat", "cut", "echo", "egrep", "false", "fgrep", "grep", "head", "paste", "printf", "replace", "rev", "sed", "seq", "sort",
		"tac", "tail", "test", "tr", "true", "uniq", "wc"}
}
