package servers

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/snowfence/snowfence/cmd/internal/server"
	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
)

// tokenPrefix begins all tokens, so that searches for leaked secrets find
// them.
const tokenPrefix = "snowfence_"

func tokenCommand(e *command.Env) *cobra.Command {
	var token server.Token
	var verbs []string
	var file, until string
	create := &cobra.Command{
		Use: "new NAME", Short: "Make a token", Args: cobra.ExactArgs(1),
		Long: `New makes a random token and prints it, once: keep it where its user keeps other secrets. The
server needs only its SHA-256, which is no secret. The entry for the server's file goes to
standard error, or into the file that --append names.

With --certificate, a client needs no token: it shows a certificate with this name from an
authority of the server's tls-client-ca. The name is one of its hosts, URIs (with a colon), email
addresses (with an @), or its common name (as in CN=web).

Verbs: ids (new IDs, numbers of sequences), read (decode, ranges, namespaces, leases, metrics),
lease (leases, for programs that make IDs themselves), manage (namespaces, sequences, vetoes,
releases).`,
		Example: `  snowfence token new shop --namespaces orders,cart-* --append /etc/snowfence/tokens.yaml
  snowfence token new prometheus --verbs read --until 90d
  snowfence token new web --verbs lease --nodes 20 --certificate web.example --append tokens.yaml`,
	}
	fl := create.Flags()
	fl.StringSliceVar(&token.Namespaces, "namespaces", nil, "`names` of the namespaces it is for, or beginnings "+
		"of names with a * behind (default: all)")
	fl.StringSliceVar(&verbs, "verbs", []string{"ids", "read"}, "what it may do, with commas between these `verbs`: "+
		"ids, read, lease, manage")
	fl.Float64Var(&token.Rate, "rate", 0, "`IDs` and other requests a second; 0 is no limit")
	fl.IntVar(&token.Nodes, "nodes", 0, "how many `nodes` it may hold in each namespace at a time, with the verb "+
		"lease; 0 is no limit")
	fl.StringVar(&until, "until", "365d", "when it ends: a `time` as in 2027-01-31T12:00:00Z or 2027-01-31, how long "+
		"from now, as in 90d or 12h, or never")
	fl.StringVar(&token.Certificate, "certificate", "",
		"`name` in the certificates of its clients, in place of a token")
	fl.StringVar(&file, "append", "", "`file` of tokens to add the entry to; it is made if it does not exist")
	create.RunE = e.Run(func(_ *cobra.Command, args []string, out *bufio.Writer) error {
		token.Name = args[0]
		for _, v := range verbs {
			token.Verbs = append(token.Verbs, server.Verb(v))
		}
		if until != "never" {
			end, err := command.ParseMoment(e, "until", until)
			if err != nil {
				return err
			}
			if token.Until.Time = end.UTC().Truncate(time.Second); !token.Until.After(e.Now()) {
				return command.Usagef("--until %s is in the past: name a later time", until)
			}
		}
		return newToken(e, token, file, out)
	})
	return command.Group(&cobra.Command{Use: "token", Short: "Make tokens for clients of a server"}, create)
}

func newToken(e *command.Env, token server.Token, file string, out *bufio.Writer) error {
	if !command.ValidName.MatchString(token.Name) {
		return command.Usagef("token %q: a name has 1 to 64 letters, digits, '-', '_' and '.'", token.Name)
	}
	secret := ""
	if token.Certificate == "" {
		var random [24]byte
		_, _ = rand.Read(random[:]) // it never fails
		secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
		sum := sha256.Sum256([]byte(secret))
		token.SHA256 = hex.EncodeToString(sum[:])
	}
	if _, err := server.NewAuth([]server.Token{token}); err != nil {
		return command.Usage(err)
	}
	text, err := yaml.Marshal([]server.Token{token})
	if err != nil {
		return err
	}
	if entry := string(text); file == "" {
		fmt.Fprint(e.Stderr, withEntry("", entry))
	} else if err := appendToken(file, token, entry); err != nil {
		return err
	}
	if secret != "" {
		_, err = fmt.Fprintln(out, secret)
	}
	return err
}

// appendToken adds an entry to a file of tokens, and leaves the rest of it,
// comments too.
func appendToken(file string, token server.Token, entry string) error {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(strings.TrimSpace(string(before))) > 0 {
		old, err := serve.ReadTokens(file)
		if err != nil {
			return err
		}
		if _, err := server.NewAuth(append(old, token)); err != nil {
			return command.Usagef("%s: %w", file, err)
		}
	}
	text := withEntry(string(before), entry)
	after, err := serve.ParseTokens(file, text)
	if err == nil && (len(after) == 0 || after[len(after)-1].Name != token.Name) {
		err = errors.New("the list of tokens must be at the end of the file")
	}
	if err != nil {
		return fmt.Errorf("%s: the entry cannot be added, so nothing was changed: %w", file, err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text[len(before):])
	return errors.Join(err, f.Close())
}

// firstEntry is the indent of a list.
var firstEntry = regexp.MustCompile(`(?m)^( *)- `)

// withEntry returns the text of a file with one more entry, indented as its
// list is.
func withEntry(file, entry string) string {
	indent := "    "
	if strings.TrimSpace(file) == "" {
		file += "tokens:\n"
	} else if found := firstEntry.FindStringSubmatch(file); found != nil {
		indent = found[1]
	}
	if !strings.HasSuffix(file, "\n") {
		file += "\n"
	}
	return file + indent + strings.ReplaceAll(strings.TrimSpace(entry), "\n", "\n"+indent) + "\n"
}
