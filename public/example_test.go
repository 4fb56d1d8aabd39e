package public_test

import (
	"encoding/json"
	"fmt"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/public"
)

func newMask(text []byte) (*public.Mask, error) {
	secret, err := snowfence.ParseSecret(text) // 32 hexadecimal digits, from a file or a secret manager
	if err != nil {
		return nil, err
	}
	return public.NewMask(secret)
}

var customerMask, _ = newMask([]byte("dffd6021bb2bd5b0af676290809ec3a5"))

type customers struct{}

func (customers) Prefix() public.Prefix {
	return public.MustPrefix("cus", snowfence.Base32Hex).Masked(customerMask)
}

type CustomerID = public.ID[customers] // JSON, text and logs: cus_82pbhev9laod6; database: 249887800817025024

// A type that is plain inside and encrypted outside.
func ExamplePrefix_Masked() {
	out, _ := json.Marshal(map[string]CustomerID{"id": 249887800817025024})
	fmt.Println(string(out))

	var in struct{ ID CustomerID }
	err := json.Unmarshal([]byte(`{"ID":"cus_82pbhev9laod6"}`), &in)
	fmt.Println(int64(in.ID), err)
	// Output:
	// {"id":"cus_82pbhev9laod6"}
	// 249887800817025024 <nil>
}
