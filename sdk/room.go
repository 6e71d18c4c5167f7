package sdk

import "github.com/sluicehq/sluice/abi"

// Blobs, files and memories belong to the session. A call sees its own changes
// of blobs and files at once; they are kept when the call has succeeded, and
// never otherwise. Every error is an *abi.Problem that a handler may return as
// it is.

// Blob lets the skill read the session's blobs, or write them too.
func Blob(mode abi.AccessMode) SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Capabilities.Blob = mode })
}

// BlobWrite keeps large data and gives its id, by which people and other calls
// of the session find it. A call may write abi.CallBlobs of them and
// abi.CallWriteBytes.
func BlobWrite(c Call, info abi.BlobInfo, data []byte) (id string, err error) {
	arg, err := argument(info)
	if err != nil {
		return "", err
	}
	b, _, err := blobWrite(c, data, arg)
	return string(b), err
}

// BlobRead reads a part of a blob, up to abi.BlobReadBytes; length 0 is to the
// end. There may be less than length.
func BlobRead(c Call, id string, offset, length int64) ([]byte, error) {
	arg, err := argument(abi.BlobRange{ID: id, Offset: offset, Length: length})
	if err != nil {
		return nil, err
	}
	b, _, err := blobRead(c, arg)
	return b, err
}

// Files lets the skill read the session's files, or write them too.
func Files(mode abi.AccessMode) SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Capabilities.Files = mode })
}

// FileRead reads a file. Paths are relative to the session's folder, with
// slashes; see abi.CheckPath. One that leads to nothing is abi.NotFound, with
// the names that are near.
func FileRead(c Call, path string) ([]byte, error) {
	b, _, err := filesRead(c, []byte(path))
	return b, err
}

// FileWrite puts a file in place of any other and gives its hash, SHA-256 in
// hex. Folders come and go with their files.
func FileWrite(c Call, path string, data []byte) (hash string, err error) {
	return writeFile(c, path, data, abi.FileCondition{})
}

// FileWriteIf writes only where the file has the given hash, or where there is
// none for "": else it is abi.Conflict. The same write again succeeds.
func FileWriteIf(c Call, path string, data []byte, ifHash string) (hash string, err error) {
	return writeFile(c, path, data, abi.FileCondition{IfHash: &ifHash})
}

func writeFile(c Call, path string, data []byte, condition abi.FileCondition) (string, error) {
	arg, err := argument(condition)
	if err != nil {
		return "", err
	}
	b, _, err := filesWrite(c, []byte(path), data, arg)
	return string(b), err
}

// FileList lists a folder, sorted by name; "" is the session's own.
func FileList(c Call, folder string) (entries []abi.FileEntry, err error) {
	b, _, err := filesList(c, []byte(folder))
	if err != nil {
		return nil, err
	}
	return entries, result(b, &entries)
}

// FileRemove removes a file.
func FileRemove(c Call, path string) error {
	_, _, err := filesRemove(c, []byte(path))
	return err
}

// Memory names the kinds of memories that the skill may recall and remember.
func Memory(recall, remember []string) SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Capabilities.Memory = &abi.MemoryUse{Recall: recall, Remember: remember} })
}

// Recall asks for memories, best first.
func Recall(c Call, q abi.RecallQuery) (hits []abi.Memory, err error) {
	arg, err := argument(q)
	if err != nil {
		return nil, err
	}
	b, _, err := memoryRecall(c, arg)
	if err != nil {
		return nil, err
	}
	return hits, result(b, &hits)
}

// Remember keeps a memory when the call has succeeded. The call itself does
// not recall it yet.
func Remember(c Call, m abi.Memory) error {
	arg, err := argument(m)
	if err != nil {
		return err
	}
	_, _, err = memoryRemember(c, arg)
	return err
}

// ReportsProgress lets the skill tell the user how far a call has come.
func ReportsProgress() SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Capabilities.Progress = true })
}

// Progress tells the user how far the call has come, in their language; total
// is 0 where it is not known. Reports that come too quickly are dropped, so a
// handler need not count them.
func Progress(c Call, done, total int64, say string) error {
	arg, err := argument(abi.ProgressReport{Done: done, Total: total, Say: say})
	if err != nil {
		return err
	}
	_, _, err = progress(c, arg)
	return err
}

// Hosts opens hosts of the network to the skill.
func Hosts(rules ...abi.HTTPRule) SkillOption {
	return forSkill(func(m *abi.Manifest) { m.Capabilities.HTTP = append(m.Capabilities.HTTP, rules...) })
}

// HTTP makes a request to a host that the skill declares. Any status is an
// answer and no error.
func HTTP(c Call, r abi.HTTPRequest, body []byte) (abi.HTTPResponse, error) {
	arg, err := argument(r)
	if err != nil {
		return abi.HTTPResponse{}, err
	}
	b, _, err := httpCall(c, arg, body)
	if err != nil {
		return abi.HTTPResponse{}, err
	}
	response, err := abi.DecodeHTTPResponse(b)
	if err != nil {
		return abi.HTTPResponse{}, abi.NewProblem(abi.SystemFailure, "the host gave a response that cannot be read")
	}
	return response, nil
}
