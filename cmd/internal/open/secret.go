package open

import (
	"fmt"
	"os"

	"github.com/snowfence/snowfence"
)

// Secret reads the file of a secret. Errors do not show its content.
func Secret(path string) (*snowfence.Secret, error) {
	const most = 1024
	info, err := os.Stat(path)
	if err == nil && info.Size() > most {
		err = fmt.Errorf("it has %d bytes, too many for a secret", info.Size())
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	defer clear(data)
	return snowfence.ParseSecret(data)
}
