package main

import (
	"slices"
	"strings"
)

const noNetwork = "No script reaches a network. A tool of a skill that may, gets data from outside; filter what it gave."

// A kind of commands that people know, and that are not here.
type kind struct {
	names     []string
	why, hint string
}

// danger says of a command of other shells why it does not run here, and what
// to do instead; nothing of a name that it does not know.
func danger(name string) (why, hint string) {
	if strings.HasPrefix(name, "mkfs") {
		name = "mkfs"
	}
	for _, k := range kinds() {
		if slices.Contains(k.names, name) {
			return k.why, k.hint
		}
	}
	return "", ""
}

func kinds() []kind {
	return []kind{
		{strings.Fields("rm rmdir unlink shred dd mkfs truncate mv wipefs fdisk"), "destroys data, and is refused: a script only reads blobs",
			"Nothing can be deleted or moved here. Where a person wants that, a tool of a skill does it, after approval."},
		{strings.Fields("cp tee touch mkdir ln install split csplit mktemp chmod chown chgrp chattr patch tar zip gzip"), "writes files, and there are none here",
			"Let the script print what is wanted: its output is its result, and a long one is kept as a blob."},
		{strings.Fields("git hg svn"), "is refused: a script has no repository, and cannot reset, clean or push one",
			"Uncommitted work is safe from scripts. Filter text with grep, sed and cut."},
		{strings.Fields("curl wget nc ncat netcat ssh scp sftp rsync telnet ftp ping dig nslookup host socat openssl ip ifconfig"), "reaches a network, and is refused", noNetwork},
		{strings.Fields("env printenv export declare typeset getenv id whoami hostname uname ps lsof history"), "is refused: there is no environment, and secrets are never readable here",
			"Set what is needed in the script: name=value."},
		{strings.Fields("eval exec source . command builtin alias trap enable bash sh zsh dash ksh fish busybox python python3 perl ruby node php lua make parallel nohup setsid timeout time watch at crontab"),
			"runs other programs or text as a script, and is refused", "Write the commands themselves."},
		{strings.Fields("sudo su doas kill killall pkill shutdown reboot halt mount umount systemctl service docker kubectl apt apt-get yum npm pip ulimit chroot"),
			"controls a system, and there is none here", "Only commands that filter text run here."},
		{strings.Fields("find ls cd pwd stat du df file tree less more vi vim nano ed"), "is for files, and there are none here", "Name a blob: grep PATTERN blob:ID."},
		{strings.Fields("awk gawk mawk"), "is not known here",
			"For fields use cut -d, -f2 (after tr -s ' ' for several blanks), for sums a loop: while read -r x; do n=$((n + x)); done. JSON is for query_json of sandbox.jq."},
		{strings.Fields("jq"), "is a tool of its own", "Call query_json of sandbox.jq with the filter and the blob's id."},
		{strings.Fields("xargs"), "is not known here", "Loop: while read -r line; do ...; done."},
		{strings.Fields("sleep wait jobs fg bg date yes"), "is not known here", "A script runs at once and at one instant."},
	}
}
