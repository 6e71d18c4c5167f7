package registry

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/manifest"
	"github.com/sluicehq/sluice/host"
)

// A Release is the verified content of one release. It may be shared: nobody
// changes it.
type Release struct {
	Version Version
	Skill   *manifest.Skill // its name and version are those of Version
	Module  []byte          // has the sha256 and the size that the manifest gives
	SHA256  string          // of Module, in hex
	Files   fs.FS           // the whole tree: skill.yaml, schemas, guide, module
}

const manifestFile = "skill.yaml"

// pack puts files into one archive, uncompressed. The same files give the same
// bytes.
func pack(files []file) ([]byte, error) {
	var packed bytes.Buffer
	archive := zip.NewWriter(&packed)
	for _, f := range files {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Store})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return packed.Bytes(), err
}

// unpack makes packed files a release, or says why they are none.
func unpack(v Version, packed []byte, most limits) (*Release, error) {
	files, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if _, err := fs.Stat(files, manifestFile); err != nil {
		return nil, notRelease(v, err, "there is no "+manifestFile)
	}
	skill, err := manifest.Load(files, manifestFile)
	if err != nil {
		return nil, badManifest(v.String(), err)
	}
	if skill.Name != v.Skill || skill.Version != v.Version {
		return nil, notRelease(v, nil, fmt.Sprintf("skill.yaml says %s %s", skill.Name, skill.Version))
	}
	if skill.SHA256 == "" || skill.Size == 0 {
		return nil, notRelease(v, nil, "skill.yaml does not give the module's sha256 and size")
	}
	module, err := readModule(v, files, skill.Module, most.module)
	if err != nil {
		return nil, err
	}
	if sum := host.Digest(module); sum != skill.SHA256 || int64(len(module)) != skill.Size {
		return nil, host.Fail("registry", abi.NewProblem(abi.DigestMismatch,
			"%s: %s has %d bytes and sha256 %s; skill.yaml says %d and %s", v, skill.Module, len(module), sum, skill.Size, skill.SHA256).
			WithHint("do not use it; publish a new version with sluice registry publish"), nil)
	}
	return &Release{v, skill, module, skill.SHA256, files}, nil
}

func readModule(v Version, files fs.FS, name string, most abi.Size) ([]byte, error) {
	info, err := fs.Stat(files, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, notRelease(v, err, fmt.Sprintf("there is no file %.80q, which skill.yaml gives as the module", name))
	}
	if abi.Size(info.Size()) > most {
		return nil, host.Fail("registry", abi.NewProblem(abi.ModuleTooLarge, "%s: the module has %d bytes and may have %s", v, info.Size(), most).
			WithHint("make it smaller, or raise the registry's module limit (at most %s)", abi.ModuleBytesCeiling), nil)
	}
	return fs.ReadFile(files, name)
}

func notRelease(v Version, cause error, why string) error {
	return host.Fail("registry", abi.NewProblem(abi.InvalidRegistry, "%s is not a release: %s", v, why).
		WithHint("publish releases with sluice registry publish"), cause)
}

// badManifest says whose manifest it is that the manifest's reader refuses.
func badManifest(whose string, err error) error {
	problem := abi.NewProblem(abi.InvalidManifest, "skill.yaml cannot be used")
	var found *abi.Problem
	if errors.As(err, &found) {
		copied := *found
		problem = &copied
	}
	problem.Message = whose + ": " + problem.Message
	if problem.Hint == "" {
		problem.Hint = "correct skill.yaml and publish it as a new version"
	}
	return host.Fail("registry", problem, err)
}
