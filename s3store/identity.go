package s3store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	"github.com/snowfence/snowfence/lease/store"
)

// idName is the object with the identity: its text and time. It is in no
// folder of a namespace.
func (s *Store) idName() string { return s.prefix + "identity" }

// makeIdentity makes the object that has the identity, where there is none.
// Then it tries two writes that have to fail, because some servers ignore
// conditions.
func (s *Store) makeIdentity(ctx context.Context) error {
	if s.tried.Load() {
		return nil
	}
	if _, err := s.ask(ctx); err != nil {
		return err
	}
	for _, tag := range []string{"", `"00000000000000000000000000000000"`} {
		if s.looks {
			break
		}
		switch err := s.putObject(ctx, s.idName(), rand.Text(), tag); {
		case err == nil:
			return fmt.Errorf("s3store: bucket %q: the server ignores the condition of a write, so two holders could "+
				"get one node: use Amazon's S3, or another store", s.bucket)
		case !refused(err, tag):
			return s.explainError(err)
		}
	}
	s.tried.Store(true)
	return nil
}

// ask returns who the store is, for all namespaces. Its time can be off by
// half a second and the duration of a request.
func (s *Store) ask(ctx context.Context) (told store.Reply, _ error) {
	for {
		o, err := s.getObject(ctx, s.idName())
		if err != nil {
			return told, err
		}
		if o.tag != "" {
			if told.Identity = o.identity(); !o.now.IsZero() {
				told.Now = o.now.Add(time.Second / 2)
			}
			s.told.Store(&told)
			return told, nil
		}
		if s.looks {
			return told, fmt.Errorf("s3store: bucket %q: no program has used the prefix %q: %w", s.bucket, s.prefix,
				store.ErrReadOnly)
		}
		if _, err := s.replaceObject(ctx, s.idName(), rand.Text(), ""); err != nil {
			return told, err
		}
	}
}

// identity is the text and time of the object with the identity.
func (o object) identity() string { return o.text + "." + strconv.FormatInt(o.at.Unix(), 10) }

// Suspect implements [store.Store].
func (s *Store) Suspect(ctx context.Context, identity string) error {
	if s.looks {
		return fmt.Errorf("s3store: %w", store.ErrReadOnly)
	}
	for {
		o, err := s.getObject(ctx, s.idName())
		if err != nil || o.tag == "" || o.identity() != identity {
			return err
		}
		if again, err := s.replaceObject(ctx, s.idName(), rand.Text(), o.tag); !again {
			return err
		}
	}
}

// objectName is the name of a record's object: its namespace, escaped, and
// its node.
func (s *Store) objectName(k store.Key) string {
	return s.prefix + escape(k.Namespace) + "/" + store.NodeText(k.Node)
}

// escape writes a namespace with characters that S3 calls safe. It must
// never change, because objects are found by it.
func escape(namespace string) string {
	return "n-" + strings.ReplaceAll(url.PathEscape(namespace), "%", "!")
}

func unescape(folder string) (string, error) {
	text, ok := strings.CutPrefix(folder, "n-")
	namespace, err := url.PathUnescape(strings.ReplaceAll(text, "!", "%"))
	if !ok || err != nil || escape(namespace) != folder {
		return "", fmt.Errorf("s3store: the folder %q is not of this store: use another prefix", folder)
	}
	return namespace, nil
}

// explainError says what to do about an error of S3.
func (s *Store) explainError(err error) error {
	where := fmt.Sprintf("s3store: bucket %q", s.bucket)
	switch {
	case err == nil:
		return nil
	case says(err, "NoSuchBucket"):
		where += fmt.Sprintf(" is not in this region: aws s3 mb s3://%s", s.bucket)
	case answered(err, http.StatusForbidden):
		where += fmt.Sprintf(": the account needs s3:GetObject and s3:PutObject on %s/%s*, and s3:ListBucket on %[1]s",
			s.bucket, s.prefix)
	}
	return &store.Failure{Err: err, Text: where + ": " + err.Error(), Public: where}
}

// says reports whether S3 answered with an error of this name.
func says(err error, name string) bool {
	var answer smithy.APIError
	return errors.As(err, &answer) && answer.ErrorCode() == name
}
