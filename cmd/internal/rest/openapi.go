package rest

import _ "embed"

//go:embed openapi.json
var openAPI []byte
