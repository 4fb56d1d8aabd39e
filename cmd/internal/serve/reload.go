package serve

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
)

// reloadFailed reports for each thing that is read again whether the last
// try failed, so that the old one is in use.
func (p *Process) reloadFailed(each func(what string, failed bool)) {
	each("settings", p.reloads.settings.Load())
	each("tokens", p.tokens.failed.Load())
	if p.certificates != nil {
		each("certificates", p.certificates.failed.Load())
	}
}

// readFiles reads files again that changed.
func (p *Process) readFiles() {
	p.reloads.mu.Lock()
	defer p.reloads.mu.Unlock()
	p.tokens.reloadFile()
	if p.certificates != nil {
		p.certificates.reloadFiles()
	}
}

// reloadable are settings that Reload applies.
var reloadable = []string{"tokens", "tls-cert", "tls-key", "tls-client-ca", "rate-without-tokens", "log-debug"}

// Reload applies new settings to a server that runs, all or none, and reads
// tokens and certificates again. It logs the names of settings that changed
// and need a restart. An error has been logged.
func (p *Process) Reload(c Config) error {
	p.reloads.mu.Lock()
	defer p.reloads.mu.Unlock()
	c = c.withDefaults()
	c.Agent, c.Quota, c.Unit = p.cfg.Agent, p.cfg.Quota, p.cfg.Unit // no file has them
	err := p.reloadConfig(&c)
	p.reloads.settings.Store(err != nil)
	if err != nil {
		p.cfg.Logger.Warn("the settings cannot be used: the old ones stay in use", "cause", err)
		return err
	}
	if names := p.unappliedNames(&c); len(names) > 0 {
		p.cfg.Logger.Warn("some settings changed that need a restart", "settings", names)
	}
	p.cfg.Logger.Info("settings read again", "file", c.File, "tokens", len(p.tokens.currentAuth().Tokens()))
	return nil
}

// ReloadFailed notes that the settings cannot be read.
func (p *Process) ReloadFailed(err error) {
	p.reloads.settings.Store(true)
	p.cfg.Logger.Warn("the settings cannot be used: the old ones stay in use", "cause", err)
}

func (p *Process) reloadConfig(c *Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	if !sameDoors(&p.cfg, c) {
		return errors.New("restart the server to change whether clients need TLS, certificates or tokens")
	}
	tokens, err := newTokens(c)
	var certificates *certificates
	if err == nil {
		certificates, err = newCertificates(c)
	}
	if err == nil && certificates != nil {
		err = p.certificates.keepGood(certificates.until)
	}
	if err != nil {
		return err
	}
	p.tokens.replaceWith(tokens)
	if p.certificates != nil {
		p.certificates.replaceWith(certificates)
	}
	return nil
}

// sameDoors reports whether clients need the same things, which listeners
// were opened for.
func sameDoors(a, b *Config) bool {
	doors := func(c *Config) [3]bool {
		return [...]bool{c.Tokens == "" && len(c.TokenList) == 0, c.TLSCert == "", c.TLSClientCA == ""}
	}
	return doors(a) == doors(b)
}

// unappliedNames returns the names of settings that differ from those in
// use, and stay as they were.
func (p *Process) unappliedNames(c *Config) (names []string) {
	old := map[string]any{}
	name := func(tag reflect.StructTag) string { return cmp.Or(tag.Get("name"), tag.Get("file")) }
	for tag, field := range p.cfg.Settings() {
		old[name(tag)] = reflect.ValueOf(field).Elem().Interface()
	}
	for tag, field := range c.Settings() {
		n, now := name(tag), reflect.ValueOf(field).Elem()
		if !slices.Contains(reloadable, n) && !reflect.DeepEqual(old[n], now.Interface()) {
			names = append(names, n)
		}
	}
	return names
}
