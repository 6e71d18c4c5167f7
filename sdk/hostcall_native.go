//go:build !wasip1

package sdk

import "github.com/sluicehq/sluice/abi"

// HostCaller is what Grants have that serve more than kv: any host function of
// abi.HostFuncs by name, with the bytes of its arguments as a module gives
// them. It reports false where the result is nothing; errors are an
// *abi.Problem.
type HostCaller interface {
	HostCall(name string, args ...[]byte) (block []byte, found bool, err error)
}

func callHost(c Call, name string, args ...[]byte) ([]byte, bool, error) {
	caller, ok := c.env.(HostCaller)
	if !ok {
		return nil, false, abi.NewProblem(abi.NotGranted, "%s is not granted", name)
	}
	return caller.HostCall(name, args...)
}

func blobRead(c Call, part []byte) ([]byte, bool, error) { return callHost(c, abi.FuncBlobRead, part) }
func blobWrite(c Call, data, info []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncBlobWrite, data, info)
}
func filesRead(c Call, path []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncFilesRead, path)
}
func filesWrite(c Call, path, data, condition []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncFilesWrite, path, data, condition)
}
func filesList(c Call, path []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncFilesList, path)
}
func filesRemove(c Call, path []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncFilesRemove, path)
}
func memoryRecall(c Call, query []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncMemoryRecall, query)
}
func memoryRemember(c Call, memory []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncMemoryRemember, memory)
}
func httpCall(c Call, request, body []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncHTTP, request, body)
}
func progress(c Call, report []byte) ([]byte, bool, error) {
	return callHost(c, abi.FuncProgress, report)
}
