// Package view fills the protocol's messages of namespaces, leases and
// sequences from the store, and writes their JSON, for the program and all
// its protocols.
package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// JSON returns a message as one line, with the names of the protocol, and
// anything else by its tags. Numbers of 64 bits in a message are texts.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	m, ok := v.(proto.Message)
	if !ok {
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err := enc.Encode(v)
		return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
	}
	loose, err := protojson.MarshalOptions{UseProtoNames: true, EmitDefaultValues: true}.Marshal(m)
	if err == nil {
		err = json.Compact(&b, loose) // protojson puts spaces where it likes
	}
	return b.Bytes(), err
}

// Read reads a message from JSON, and refuses fields that it does not have.
func Read(b []byte, m proto.Message) error {
	if err := protojson.Unmarshal(b, m); err != nil {
		text := strings.ReplaceAll(err.Error(), "\u00a0", " ") // protojson puts these where it likes, too
		return errors.New(strings.TrimPrefix(text, "proto: "))
	}
	return nil
}

// moment is a time in a message; the zero time is missing.
func moment(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
