package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowfence/snowfence/test/release"
	"github.com/snowfence/snowfence/test/release/licences"
)

// object is one of JSON: CycloneDX 1.6 has more fields than we need types
// for.
type object = map[string]any

// readParts reads what buildinfo does not tell: licences, and which module
// requires which.
func (b *build) readParts(m *maker) error {
	var err error
	if b.linkedModules, err = licences.Linked(m.dir, m.env, command); err != nil {
		return err
	}
	graph, err := m.runGo("mod", "graph")
	if err != nil {
		return err
	}
	b.edges = map[string][]string{}
	for line := range strings.Lines(graph) {
		if from, to, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			b.edges[from] = append(b.edges[from], to)
		}
	}
	return nil
}

// listParts returns the list of all that is linked into the program (SBOM),
// as CycloneDX in JSON.
func (b *build) listParts(program []byte, name string) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	texts := map[string]licences.Module{}
	for _, m := range b.linkedModules {
		texts[m.Path] = m
	}
	sum := sha256.Sum256(program)
	url := "pkg:golang/" + info.Main.Path + "@" + info.Main.Version
	main := part("application", url, "snowfence", info.Main.Version, "Apache-2.0")
	main["hashes"] = []object{{"alg": "SHA-256", "content": hex.EncodeToString(sum[:])}}
	refs := map[string]string{info.Main.Path: url}
	versions := map[string]string{info.Main.Path: info.Main.Version}
	golang := strings.TrimPrefix(info.GoVersion, "go")
	components := []object{part("library", "pkg:golang/std@"+golang, "std", golang, "BSD-3-Clause")}
	for _, d := range info.Deps {
		id := "Apache-2.0" // ours
		if m, ok := texts[d.Path]; ok {
			id = m.ID()
		} else if !release.Ours(d.Path) {
			return nil, fmt.Errorf("the notices do not name %s", d.Path)
		}
		c := part("library", "pkg:golang/"+d.Path+"@"+d.Version, d.Path, d.Version, id)
		c["properties"] = []object{{"name": "go.sum", "value": d.Sum}}
		components = append(components, c)
		refs[d.Path], versions[d.Path] = "pkg:golang/"+d.Path+"@"+d.Version, d.Version
	}
	bundled, err := licences.Bundled(b.root)
	if err != nil {
		return nil, err
	}
	for _, m := range bundled {
		bare := strings.TrimPrefix(m.Path, "npm ")
		components = append(components, part("library", "pkg:npm/"+bare+"@"+m.Version, bare, m.Version, m.ID()))
	}
	return json.MarshalIndent(object{
		"$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
		"serialNumber": serial(sum[:]), "version": 1,
		"metadata": object{
			"timestamp": b.commitTime.Format(time.RFC3339), "component": main,
			"properties": []object{{"name": "archive", "value": name}},
		},
		"components": components, "dependencies": b.listDependencies(refs, versions),
	}, "", "  ")
}

// part describes one component. Its package URL is its name in the list.
func part(kind, url, name, version, licence string) object {
	choice := object{"license": object{"id": licence}}
	if strings.Contains(licence, " ") || strings.HasPrefix(licence, "LicenseRef-") {
		choice = object{"expression": licence}
	}
	return object{
		"type": kind, "bom-ref": url, "purl": url, "name": name, "version": version, "licenses": []object{choice},
	}
}

// listDependencies says which linked module requires which other.
func (b *build) listDependencies(refs, versions map[string]string) []object {
	var all []object
	for path, ref := range refs {
		on := []string{}
		for _, to := range b.edges[path+"@"+versions[path]] {
			needed, _, _ := strings.Cut(to, "@")
			if other, ok := refs[needed]; ok && !slices.Contains(on, other) {
				on = append(on, other)
			}
		}
		slices.Sort(on)
		all = append(all, object{"ref": ref, "dependsOn": on})
	}
	slices.SortFunc(all, func(a, b object) int { return strings.Compare(a["ref"].(string), b["ref"].(string)) })
	return all
}

// serial makes the number of the list from the checksum of the program, as
// a UUID of version 8.
func serial(sum []byte) string {
	u := slices.Clone(sum[:16])
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
