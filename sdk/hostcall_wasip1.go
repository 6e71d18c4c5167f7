package sdk

// Each import is reached from one function only, and that one from its typed
// front: the linker leaves out what a skill does not use.

//go:wasmimport extism:host/user sluice_blob_read
func sluiceBlobRead(part uint64) int64

//go:wasmimport extism:host/user sluice_blob_write
func sluiceBlobWrite(data, info uint64) int64

//go:wasmimport extism:host/user sluice_files_read
func sluiceFilesRead(path uint64) int64

//go:wasmimport extism:host/user sluice_files_write
func sluiceFilesWrite(path, data, condition uint64) int64

//go:wasmimport extism:host/user sluice_files_list
func sluiceFilesList(path uint64) int64

//go:wasmimport extism:host/user sluice_files_remove
func sluiceFilesRemove(path uint64) int64

//go:wasmimport extism:host/user sluice_memory_recall
func sluiceMemoryRecall(query uint64) int64

//go:wasmimport extism:host/user sluice_memory_remember
func sluiceMemoryRemember(memory uint64) int64

//go:wasmimport extism:host/user sluice_http
func sluiceHTTP(request, body uint64) int64

//go:wasmimport extism:host/user sluice_progress
func sluiceProgress(report uint64) int64

func blobRead(_ Call, part []byte) ([]byte, bool, error) { return call1(sluiceBlobRead, part) }
func blobWrite(_ Call, data, info []byte) ([]byte, bool, error) {
	return call2(sluiceBlobWrite, data, info)
}
func filesRead(_ Call, path []byte) ([]byte, bool, error)   { return call1(sluiceFilesRead, path) }
func filesList(_ Call, path []byte) ([]byte, bool, error)   { return call1(sluiceFilesList, path) }
func filesRemove(_ Call, path []byte) ([]byte, bool, error) { return call1(sluiceFilesRemove, path) }
func memoryRecall(_ Call, query []byte) ([]byte, bool, error) {
	return call1(sluiceMemoryRecall, query)
}
func memoryRemember(_ Call, memory []byte) ([]byte, bool, error) {
	return call1(sluiceMemoryRemember, memory)
}
func httpCall(_ Call, request, body []byte) ([]byte, bool, error) {
	return call2(sluiceHTTP, request, body)
}
func progress(_ Call, report []byte) ([]byte, bool, error) { return call1(sluiceProgress, report) }

func filesWrite(_ Call, path, data, condition []byte) ([]byte, bool, error) {
	p, d, c := newBlock(path), newBlock(data), newBlock(condition)
	defer extismFree(p)
	defer extismFree(d)
	defer extismFree(c)
	return hostResult(sluiceFilesWrite(p, d, c))
}

func call1(f func(uint64) int64, a []byte) ([]byte, bool, error) {
	x := newBlock(a)
	defer extismFree(x)
	return hostResult(f(x))
}

func call2(f func(x, y uint64) int64, a, b []byte) ([]byte, bool, error) {
	x, y := newBlock(a), newBlock(b)
	defer extismFree(x)
	defer extismFree(y)
	return hostResult(f(x, y))
}
