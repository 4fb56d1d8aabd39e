package doctor

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/snowfence/snowfence/cmd/internal/serve"
)

// settings looks at the settings of a server, as serve --check-config does.
func settings(_ context.Context, c *Case, r *report) {
	all := []string{Settings, CertificateEnds, TokenEnds}
	if c.Config == nil {
		r.unchecked(all, "", "no settings of a server are given: --config FILE names them")
		return
	}
	if c.Config.TLSCert == "" {
		r.unchecked(all[1:2], "", "the settings name no certificate")
	}
	if c.Config.Tokens == "" && len(c.Config.TokenList) == 0 {
		r.unchecked(all[2:], "", "the settings name no tokens")
	}
	ends, err := serve.CheckFiles(*c.Config)
	if err != nil {
		program := map[bool]string{false: "serve", true: "agent"}[c.Config.Agent]
		r.found(Settings, c.Config.File, "do what the error says, and try it: snowfence "+program+
			" --check-config --config "+c.Config.File, "%v", err)
		if len(ends.Certificates) == 0 && c.Config.TLSCert != "" {
			r.unchecked(all[1:2], "", "not all files could be read")
		}
		if len(ends.Tokens)+len(ends.Endless) == 0 && (c.Config.Tokens != "" || len(c.Config.TokenList) > 0) {
			r.unchecked(all[2:], "", "not all files could be read")
		}
	}
	for _, text := range ends.Certificates {
		r.found(CertificateEnds, "", "renew it; the server reads a new file by itself", "%s", text)
	}
	for _, text := range ends.Tokens {
		r.found(TokenEnds, "", "make another one (snowfence token new NAME --until 90d), give it to its clients, and "+
			"take the old one out of the file", "%s", text)
	}
	for _, name := range ends.Endless {
		r.found(TokenEnds, "", "give it a line \"until: "+c.Now().AddDate(0, 3, 0).Format(time.DateOnly)+
			"\", and its clients another token before then",
			"token %q has no end: it can be used for ever by those who have seen it", name)
	}
}

// readable looks for files with secrets that others can read.
func readable(_ context.Context, c *Case, r *report) {
	name := []string{FileReadable}
	if runtime.GOOS == "windows" {
		r.unchecked(name, "", "rights of files are not looked at on Windows")
		return
	}
	files := c.Secrets
	if c.Store != nil && c.Store.File() != "" {
		files = append(files, c.Store.File()) // it has the keys that sign tickets
	}
	for _, path := range files {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			r.unchecked(name, path, "%v", err)
		case info.Mode().Perm()&0o007 != 0:
			r.found(FileReadable, path, "chmod o= "+path, "every user of this machine can read or write it")
		default:
			r.good(FileReadable, path, "other users of this machine cannot read it")
		}
	}
	if len(files) == 0 {
		r.unchecked(name, "", "no file with a secret is named")
	}
}
