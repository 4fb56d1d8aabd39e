package servers

import (
	"cmp"
	"strings"
	"time"

	"github.com/snowfence/snowfence/cmd/snowfence/internal/command"

	"github.com/snowfence/snowfence/cmd/internal/open"
	"github.com/snowfence/snowfence/cmd/internal/serve"
	"github.com/spf13/pflag"
)

// settingsOf returns the settings of a server, from arguments, the
// environment and the file of --config: the first of these that names a
// setting decides.
func settingsOf(e *command.Env, args []string, defaults map[string]string) (c serve.Config, err error) {
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	bindSettings(fs, &c, defaults)
	if err = fs.Parse(args); err == nil {
		err = command.ByEnv(e, fs)
	}
	if err == nil {
		err = readSettings(fs, &c)
	}
	if err != nil {
		err = command.Usage(err)
	}
	c.Agent = defaults != nil || open.Servers(c.Store) != nil
	for _, address := range []*string{&c.HTTP, &c.RESP, &c.Admin} {
		if strings.HasPrefix(*address, "/") {
			*address = "unix:" + *address
		}
	}
	return c, err
}

// bindSettings makes flags of the settings, with their defaults or with
// other ones.
func bindSettings(fs *pflag.FlagSet, c *serve.Config, defaults map[string]string) {
	if defaults != nil {
		fs.SetNormalizeFunc(agentName)
	}
	quotes := strings.NewReplacer("<", "`", ">", "`")
	for tag, field := range c.Settings() {
		name, help := tag.Get("name"), quotes.Replace(tag.Get("help"))
		if name == "" {
			continue
		}
		switch p := field.(type) {
		case *string:
			fs.StringVar(p, name, "", help)
		case *bool:
			fs.BoolVar(p, name, false, help)
		case *int:
			fs.IntVar(p, name, 0, help)
		case *int64:
			fs.Int64Var(p, name, 0, help)
		case *time.Duration:
			fs.DurationVar(p, name, 0, help)
		case *[]string:
			fs.StringSliceVar(p, name, nil, help)
		case *map[string]string:
			fs.StringToStringVar(p, name, nil, help)
		case *map[string]int64:
			fs.StringToInt64Var(p, name, nil, help)
		}
		f := fs.Lookup(name)
		f.NoOptDefVal = cmp.Or(tag.Get("bare"), f.NoOptDefVal)
		text, other := defaults[name]
		if !other {
			text = tag.Get("default")
		}
		if text != "" {
			_ = f.Value.Set(text) // a test looks at all of them
			f.DefValue = f.Value.String()
		}
	}
}
