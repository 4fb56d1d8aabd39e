package kubestore

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Config says where the API server is, and how the client authenticates.
// [InCluster] and [Kubeconfig] return one.
type Config struct {
	Server     string // its URL
	ServerName string // in its certificate, if that is not the host of the URL
	Namespace  string // the Kubernetes namespace of the objects
	CA         []byte // certificates in PEM; nil means the system's

	// Token returns the bearer token. It is called before each request,
	// because tokens of pods change every hour. Nil means no token.
	Token func() (string, error)

	// Certificate is the client's, for [tls.Config.Certificates]; nil means
	// none.
	Certificate *tls.Certificate
}

// serviceAccount is where Kubernetes gives a pod its token, certificate
// authority and namespace.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount"

// InCluster returns the Config of a pod, with the rights of its service
// account.
func InCluster() (*Config, error) { return inCluster(os.Getenv, serviceAccount) }

func inCluster(env func(string) string, dir string) (*Config, error) {
	host, port := env("KUBERNETES_SERVICE_HOST"), env("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("kubestore: this is not a pod, because KUBERNETES_SERVICE_HOST is not set: name a " +
			"kubeconfig file")
	}
	ca, err1 := os.ReadFile(filepath.Join(dir, "ca.crt"))
	namespace, err2 := os.ReadFile(filepath.Join(dir, "namespace"))
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("kubestore: the pod has no service account (automountServiceAccountToken): %w", err)
	}
	return &Config{
		Server:    "https://" + net.JoinHostPort(host, port),
		Namespace: strings.TrimSpace(string(namespace)),
		CA:        ca,
		Token:     tokenFile(filepath.Join(dir, "token")),
	}, nil
}

func tokenFile(path string) func() (string, error) {
	return func() (string, error) {
		token, err := os.ReadFile(path)
		return strings.TrimSpace(string(token)), err
	}
}

// kubeconfig is the part of such a file that matters here.
type kubeconfig struct {
	Current  string `yaml:"current-context"`
	Contexts []struct {
		Name    string
		Context struct{ Cluster, User, Namespace string }
	}
	Clusters []struct {
		Name    string
		Cluster struct {
			Server     string
			ServerName string `yaml:"tls-server-name"`
			CA         string `yaml:"certificate-authority"`
			CAData     string `yaml:"certificate-authority-data"`
			Insecure   bool   `yaml:"insecure-skip-tls-verify"`
			Proxy      string `yaml:"proxy-url"`
		}
	}
	Users []struct {
		Name string
		User struct {
			Token     string
			TokenFile string `yaml:"tokenFile"`
			Cert      string `yaml:"client-certificate"`
			CertData  string `yaml:"client-certificate-data"`
			Key       string `yaml:"client-key"`
			KeyData   string `yaml:"client-key-data"`
			Username  string
			Exec      any
			Provider  any `yaml:"auth-provider"`
		}
	}
}

// Kubeconfig returns the Config of the current context of a kubeconfig
// file. It supports tokens and client certificates. It refuses users with
// exec, auth-provider or a password, proxies, and clusters without a
// verified certificate.
func Kubeconfig(path string) (*Config, error) {
	c, err := readKubeconfig(path)
	if err != nil {
		return nil, fmt.Errorf("kubestore: kubeconfig %s: %w", path, err)
	}
	return c, nil
}

func readKubeconfig(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f kubeconfig
	if err := yaml.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	c, cluster, user := &Config{Namespace: "default"}, "", ""
	for _, x := range f.Contexts {
		if x.Name == f.Current {
			cluster, user = x.Context.Cluster, x.Context.User
			if x.Context.Namespace != "" {
				c.Namespace = x.Context.Namespace
			}
		}
	}
	if err := c.setCluster(&f, cluster, filepath.Dir(path)); err != nil {
		return nil, err
	}
	return c, c.setUser(&f, user, filepath.Dir(path))
}

func (c *Config) setCluster(f *kubeconfig, name, dir string) (err error) {
	for _, x := range f.Clusters {
		if x.Name != name {
			continue
		}
		if x.Cluster.Insecure || x.Cluster.Proxy != "" {
			return errors.New("insecure-skip-tls-verify and proxy-url are not supported: give the " +
				"certificate-authority")
		}
		c.Server, c.ServerName = x.Cluster.Server, x.Cluster.ServerName
		c.CA, err = content(x.Cluster.CAData, x.Cluster.CA, dir)
		return err
	}
	return fmt.Errorf("the current context %q names no cluster of the file", f.Current)
}

func (c *Config) setUser(f *kubeconfig, name, dir string) error {
	for _, x := range f.Users {
		if x.Name != name {
			continue
		}
		u := x.User
		if u.Exec != nil || u.Provider != nil || u.Username != "" {
			return fmt.Errorf("user %q: exec, auth-provider and passwords are not supported: use a token "+
				"(kubectl create token) or a client certificate", name)
		}
		switch {
		case u.TokenFile != "":
			c.Token = tokenFile(inFolder(u.TokenFile, dir))
		case u.Token != "":
			c.Token = func() (string, error) { return u.Token, nil }
		}
		cert, err1 := content(u.CertData, u.Cert, dir)
		key, err2 := content(u.KeyData, u.Key, dir)
		if err := errors.Join(err1, err2); err != nil || cert == nil {
			return err
		}
		pair, err := tls.X509KeyPair(cert, key)
		c.Certificate = &pair
		return err
	}
	return fmt.Errorf("the current context %q names no user of the file", f.Current)
}

// content returns the decoded data, or else the file's bytes; nil if there
// is neither.
func content(data, path, dir string) ([]byte, error) {
	switch {
	case data != "":
		return base64.StdEncoding.DecodeString(data)
	case path != "":
		return os.ReadFile(inFolder(path, dir))
	}
	return nil, nil
}

func inFolder(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func (c *Config) tlsConfig() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if c.CA != nil {
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(c.CA) {
			return nil, errors.New("kubestore: Config.CA has no certificate in PEM")
		}
	}
	if c.Certificate != nil {
		t.Certificates = []tls.Certificate{*c.Certificate}
	}
	return t, nil
}
