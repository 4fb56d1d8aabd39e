package kubestore

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowfence/snowfence/lease/store"
)

const (
	labelNamespace = "snowfence/namespace" // as the object's name has it, if a label may be that long
	labelHead      = "snowfence/head"      // of records that describe a namespace or a sequence
	noteNamespace  = "snowfence/namespace"
	noteRecord     = "snowfence/record"   // what [store.Encode] makes
	noteIdentity   = "snowfence/identity" // of the object idName
	idName         = "snowfence.id"
)

// object is a Lease of coordination.k8s.io/v1: the store's part of it.
type object struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace,omitempty"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// spec is for people with kubectl. The store does not read it.
type spec struct {
	HolderIdentity string `json:"holderIdentity,omitempty"`
	RenewTime      string `json:"renewTime,omitempty"`
}

// objectName is a DNS subdomain of at most 219 bytes.
func objectName(k store.Key) string {
	return "snowfence." + escape(k.Namespace) + "." + store.NodeText(k.Node)
}

// escape keeps lower-case letters but x, digits and inner '-'. It writes
// all else as x and two hexadecimal digits. It must never change, because
// objects are found by it.
func escape(name string) string {
	var b strings.Builder
	for i, c := range []byte(name) {
		inner := i > 0 && i < len(name)-1
		if c >= 'a' && c <= 'w' || c == 'y' || c == 'z' || c >= '0' && c <= '9' || c == '-' && inner {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "x%02x", c)
	}
	return b.String()
}

func objectOf(r store.Record) object {
	o := object{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: metadata{
		Name:        objectName(r.Key),
		Labels:      map[string]string{labelNamespace: labelOf(r.Namespace)},
		Annotations: map[string]string{noteNamespace: r.Namespace, noteRecord: store.Encode(r, "")},
	}}
	if r.Node == store.NamespaceNode || r.Node == store.SequenceNode {
		o.Metadata.Labels[labelHead] = "yes"
	}
	if r.Holder != "" {
		o.Spec.HolderIdentity = r.Label
		o.Spec.RenewTime = time.UnixMilli(r.At).UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	return o
}

// labelOf is a label's value, which has at most 63 bytes. Objects of two
// namespaces may share one.
func labelOf(namespace string) string {
	value := escape(namespace)
	return strings.TrimRight(value[:min(len(value), 63)], "-")
}

// record returns the record in an object. An object of another program is
// an error.
func (o object) record() (store.Record, error) {
	namespace := o.Metadata.Annotations[noteNamespace]
	last := strings.LastIndexByte(o.Metadata.Name, '.')
	node, err := store.ParseNodeText(o.Metadata.Name[last+1:])
	k := store.Key{Namespace: namespace, Node: node}
	if err != nil || objectName(k) != o.Metadata.Name {
		return store.Record{}, fmt.Errorf("the Lease %q was not made by this store: delete it, or use another "+
			"namespace of the cluster", o.Metadata.Name)
	}
	r, _, err := store.Decode(k, o.Metadata.Annotations[noteRecord])
	return r, err
}
