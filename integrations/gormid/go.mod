module github.com/snowfence/snowfence/integrations/gormid

go 1.26.0

require (
	github.com/snowfence/snowfence v0.1.0
	gorm.io/gorm v1.31.2
)

require (
	github.com/jinzhu/inflection v1.0.0 // indirect
	github.com/jinzhu/now v1.1.5 // indirect
	golang.org/x/text v0.20.0 // indirect
)
