package integrations

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/snowfence/snowfence"
	"github.com/snowfence/snowfence/integrations/gormid"
	gormorders "github.com/snowfence/snowfence/integrations/internal/page/gorm"
)

// Customer has many orders and belongs to a city.
type Customer struct {
	ID     snowfence.ID `gorm:"primaryKey;autoIncrement:false"`
	Email  string       `gorm:"unique"`
	Orders []Order
	CityID snowfence.ID
	City   City
	Tags   []*Tag `gorm:"many2many:customer_tags"`
}

// Order has a key of its own type.
type Order struct {
	ID         OrderID `gorm:"primaryKey;autoIncrement:false"`
	CustomerID *snowfence.ID
	Name       string
}

// City has a masked key.
type City struct {
	ID   UserID `gorm:"primaryKey;autoIncrement:false"`
	Name string
}

// Tag has a key that the database would count.
type Tag struct {
	ID   snowfence.ID
	Name string
}

// Part has a composite key, and an int64 that gets an ID.
type Part struct {
	Shop   snowfence.ID `gorm:"primaryKey;autoIncrement:false"`
	Number int64        `gorm:"primaryKey;autoIncrement:false;snowfence"`
	Public snowfence.ID `gorm:"snowfence"`
	Other  snowfence.ID
}

func openGorm(t *testing.T, url string, plugins ...gorm.Plugin) *gorm.DB {
	t.Helper()
	db := must(gorm.Open(postgres.Open(url), &gorm.Config{Logger: logger.Discard}))
	pool := must(db.DB())
	t.Cleanup(func() { _ = pool.Close() })
	check(t, db.AutoMigrate(&City{}, &Tag{}, &Customer{}, &Order{}, &Part{}))
	for _, p := range plugins {
		check(t, db.Use(p))
	}
	return db.WithContext(t.Context())
}

func openGormWithIDs(t *testing.T, url string) *gorm.DB {
	db := openGorm(t, url)
	check(t, gormorders.FillKeys(db, newIDs(t)))
	return db
}

// A model with a key of type ID and no generator was inserted as 1,
// silently: GORM leaves a key that is zero to the database.
func testGormZeroKey(t *testing.T, url string) {
	plain := openGorm(t, url)
	tag := Tag{Name: "x"}
	if err := plain.Create(&tag).Error; err != nil || tag.ID != 1 {
		t.Fatalf("without the plugin: %d, %v; this test expects what GORM does", tag.ID, err)
	}
	cities := []City{{Name: "first"}, {Name: "second"}}
	one, two := plain.Create(&cities[0]).Error, plain.Create(&cities[1]).Error
	if one != nil || two == nil || cities[0].ID != 0 {
		t.Errorf("with autoIncrement:false: %v, then %v, keys %v", one, two, cities)
	}
	db, ids := plain, newIDs(t)
	check(t, db.Use(gormid.New(ids.Next)))
	tag = Tag{Name: "y"}
	check(t, db.Create(&tag).Error)
	inDatabase(t, db, "tags", tag.ID)
}

// inDatabase looks for rows by keys, which must be new IDs, all different.
func inDatabase(t *testing.T, db *gorm.DB, table string, ids ...snowfence.ID) {
	t.Helper()
	seen := map[snowfence.ID]bool{}
	for _, id := range ids {
		var n int64
		check(t, db.Table(table).Where("id = ?", id).Count(&n).Error)
		if n != 1 || id < 1<<40 || seen[id] {
			t.Errorf("%s: %d row(s) with the key %d", table, n, id)
		}
		seen[id] = true
	}
}

func testGormRows(t *testing.T, url string) {
	db := openGormWithIDs(t, url)
	one := Order{Name: "one"}
	check(t, db.Create(&one).Error)
	many := []Order{{Name: "a"}, {ID: 42, Name: "mine"}, {Name: "b"}}
	check(t, db.Create(&many).Error)
	pointers := []*Order{{Name: "c"}, {Name: "d"}}
	check(t, db.Create(pointers).Error)
	array := [2]Order{{Name: "e"}, {Name: "f"}}
	check(t, db.Create(&array).Error)
	batch := make([]Order, 250)
	check(t, db.CreateInBatches(&batch, 100).Error)
	shown := gormorders.Order{Name: "as on the page"}
	check(t, db.Create(&shown).Error)
	all := []snowfence.ID{shown.ID, snowfence.ID(one.ID), snowfence.ID(array[0].ID), snowfence.ID(array[1].ID)}
	for _, o := range append(append(batch, many[0], many[2]), *pointers[0], *pointers[1]) {
		all = append(all, snowfence.ID(o.ID))
	}
	if many[1].ID != 42 {
		t.Errorf("a key that was set became %d", many[1].ID)
	}

	row := map[string]any{"Name": "m"}
	check(t, db.Model(&Order{}).Create(row).Error)
	zero := map[string]any{"name": "z", "id": OrderID(0)}
	check(t, db.Model(&Order{}).Create(&zero).Error)
	rows := []map[string]any{{"name": "n", "ID": 0}, {"name": "o"}, {"name": "p", "ID": 43}}
	check(t, db.Model(&Order{}).Create(rows).Error)
	check(t, db.Model(&Order{}).Create(&[]map[string]any{{"name": "q"}}).Error)
	for _, id := range []any{row["id"], zero["id"], rows[0]["ID"], rows[1]["id"]} {
		all = append(all, id.(snowfence.ID))
	}
	inDatabase(t, db, "orders", all...)
	var n int64
	check(t, db.Model(&Order{}).Count(&n).Error)
	if want := len(all) + 3; int(n) != want {
		t.Errorf("%d rows, want %d", n, want)
	}
	var found Order
	check(t, db.FirstOrCreate(&found, Order{Name: "one"}).Error)
	if found.ID != one.ID {
		t.Errorf("found %v, want %v", found.ID, one.ID)
	}
	var made Order
	check(t, db.FirstOrCreate(&made, Order{Name: "not yet there"}).Error)
	inDatabase(t, db, "orders", snowfence.ID(made.ID))
}

func testGormAssociations(t *testing.T, url string) {
	db := openGormWithIDs(t, url)
	c := Customer{
		Email: "a@example.com", City: City{Name: "Berlin"}, Orders: []Order{{Name: "one"}, {Name: "two"}},
		Tags: []*Tag{{Name: "new"}, {Name: "kind"}},
	}
	check(t, db.Create(&c).Error)
	check(t, db.Model(&c).Association("Orders").Append(&Order{Name: "three"}))
	inDatabase(t, db, "customers", c.ID)
	inDatabase(t, db, "cities", snowfence.ID(c.City.ID))
	inDatabase(t, db, "tags", c.Tags[0].ID, c.Tags[1].ID)
	var back Customer
	check(t, db.Preload("Orders").Preload("Tags").Preload("City").First(&back, c.ID).Error)
	if len(back.Orders) != 3 || len(back.Tags) != 2 || back.City.ID != c.City.ID || *back.Orders[0].CustomerID != c.ID {
		t.Errorf("read back %+v", back)
	}
	for _, o := range back.Orders {
		inDatabase(t, db, "orders", snowfence.ID(o.ID))
	}
}

func testGormSave(t *testing.T, url string) {
	db := openGormWithIDs(t, url)
	o := Order{Name: "new"}
	check(t, db.Save(&o).Error)
	first := o.ID
	o.Name = "changed"
	check(t, db.Save(&o).Error)
	lost := Order{ID: 44, Name: "not there yet"}
	check(t, db.Save(&lost).Error)
	both := []Order{{ID: first, Name: "again"}, {Name: "beside"}}
	check(t, db.Save(&both).Error)
	if o.ID != first || lost.ID != 44 || both[0].ID != first {
		t.Errorf("Save changed keys: %v, %v, %v", o, lost, both)
	}
	inDatabase(t, db, "orders", snowfence.ID(first), snowfence.ID(both[1].ID))
	var names []string
	check(t, db.Model(&Order{}).Order("name").Pluck("name", &names).Error)
	if got := strings.Join(names, ","); got != "again,beside,not there yet" {
		t.Errorf("rows are %s", got)
	}
}

// After an upsert that met an older row, the struct had the new ID, which
// no row has.
func testGormUpserts(t *testing.T, url string) {
	db := openGormWithIDs(t, url).Omit(clause.Associations).Session(&gorm.Session{})
	city := City{Name: "Berlin"}
	check(t, db.Create(&city).Error)
	old := Customer{Email: "a@example.com", CityID: snowfence.ID(city.ID)}
	check(t, db.Create(&old).Error)

	byEmail := []clause.Column{{Name: "email"}}
	for _, conflict := range []clause.OnConflict{
		{Columns: byEmail, DoUpdates: clause.AssignmentColumns([]string{"city_id"})},
		{Columns: byEmail, UpdateAll: true},
	} {
		again := Customer{Email: "a@example.com", CityID: snowfence.ID(city.ID)}
		check(t, db.Clauses(conflict).Create(&again).Error)
		if again.ID != old.ID {
			t.Errorf("upsert gave the key %d, and the row has %d", again.ID, old.ID)
		}
		many := []Customer{
			{Email: "b" + old.ID.String(), CityID: snowfence.ID(city.ID)},
			{Email: "a@example.com", CityID: snowfence.ID(city.ID)},
			{Email: "c@example.com", CityID: snowfence.ID(city.ID)},
		}
		check(t, db.Clauses(conflict).Create(&many).Error)
		if many[1].ID != old.ID {
			t.Errorf("upsert gave the key %d, and the row has %d", many[1].ID, old.ID)
		}
		inDatabase(t, db, "customers", many[0].ID, many[1].ID, many[2].ID)
	}

	nothing := Customer{Email: "a@example.com", CityID: snowfence.ID(city.ID)}
	result := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&nothing)
	if result.Error != nil || result.RowsAffected != 0 {
		t.Errorf("DO NOTHING: %d rows, %v", result.RowsAffected, result.Error)
	}
	// With a condition the answer has fewer rows, and GORM gives the keys
	// to the wrong elements.
	some := []Customer{{Email: "a@example.com"}, {Email: "d@example.com", CityID: snowfence.ID(city.ID)}}
	some[0].CityID = some[1].CityID
	check(t, db.Clauses(clause.OnConflict{
		Columns: byEmail, DoUpdates: clause.AssignmentColumns([]string{"city_id"}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Expr{SQL: "customers.id < 0"}}},
	}).Create(&some).Error)
	inDatabase(t, db, "customers", some[1].ID)
}

// With Select, the column of the key was left out, and the row got the
// database's number.
func testGormColumns(t *testing.T, url string) {
	db := openGormWithIDs(t, url)
	tag := Tag{Name: "x"}
	check(t, db.Select("Name").Create(&tag).Error)
	row := map[string]any{"Name": "y"}
	check(t, db.Model(&Tag{}).Select("Name").Create(row).Error)
	var mapped snowfence.ID
	check(t, mapped.Scan(row["id"])) // the database's answer replaced what the plugin had set
	inDatabase(t, db, "tags", tag.ID, mapped)
	omitted := Tag{Name: "z"}
	check(t, db.Omit("ID").Create(&omitted).Error)
	if omitted.ID != 1 {
		t.Errorf("a key that was left out on purpose is %d", omitted.ID)
	}
}

func testGormKeys(t *testing.T, url string) {
	db := openGormWithIDs(t, url)
	p := Part{Shop: 5}
	check(t, db.Create(&p).Error)
	if p.Shop != 5 || p.Number == 0 || p.Public == 0 || int64(p.Public) == p.Number || p.Other != 0 {
		t.Errorf("filled %+v", p)
	}
	q := Part{}
	check(t, db.Create(&q).Error)
	if q.Shop != 0 {
		t.Errorf("a part of a composite key without the tag is %d", q.Shop)
	}
}

func testGormError(t *testing.T, url string) {
	broken := errors.New("the store is unreachable")
	db := openGorm(t, url, gormid.New(func(context.Context) (snowfence.ID, error) { return 0, broken }))
	for name, result := range map[string]*gorm.DB{
		"struct": db.Create(&Tag{Name: "x"}),
		"slice":  db.Create(&[]Tag{{Name: "x"}, {Name: "y"}}),
		"map":    db.Model(&Tag{}).Create(map[string]any{"name": "x"}),
		"maps":   db.Model(&Tag{}).Create([]map[string]any{{"name": "x"}}),
		"save":   db.Save(&Tag{Name: "x"}),
		"nested": db.Create(&Customer{ID: 1, Tags: []*Tag{{Name: "x"}}, City: City{ID: 1}}),
	} {
		if !errors.Is(result.Error, broken) || !strings.Contains(result.Error.Error(), "no ID for ID of Tag") {
			t.Errorf("%s: %v", name, result.Error)
		}
	}
	for _, model := range []any{&Tag{}, &Customer{}} {
		var n int64
		if err := db.Model(model).Count(&n).Error; err != nil || n != 0 {
			t.Errorf("%d rows of %T, %v", n, model, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var seen error
	asked := openGorm(t, url, gormid.New(func(ctx context.Context) (snowfence.ID, error) {
		seen = ctx.Err()
		return 0, broken
	}))
	_ = asked.WithContext(ctx).Create(&Tag{Name: "x"})
	if seen == nil {
		t.Error("Next did not get the context of the statement")
	}
}

func testGormRefusals(t *testing.T, url string) {
	db := openGormWithIDs(t, url)
	if err := db.Create(Tag{Name: "x"}).Error; err == nil || !strings.Contains(err.Error(), "pass a pointer") {
		t.Errorf("a struct that cannot be changed: %v", err)
	}
	if err := db.Create([]*Tag{nil}).Error; err == nil {
		t.Error("nil was created")
	}
	if err := openGorm(t, url).Use(gormid.New(nil)); err == nil || !strings.Contains(err.Error(), "give New") {
		t.Errorf("no source: %v", err)
	}
	check(t, db.Table("tags").Create(map[string]any{"id": 9, "name": "no model"}).Error)
	type Narrow struct {
		ID    int64 `gorm:"primaryKey;autoIncrement:false"`
		Child int32 `gorm:"snowfence"` // GORM cut off its ID
	}
	check(t, db.AutoMigrate(&Narrow{}))
	for _, row := range []any{&Narrow{}, map[string]any{"id": 1}} {
		err := db.Model(&Narrow{}).Create(row).Error
		if err == nil || !strings.Contains(err.Error(), "no room for 64 bits") {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

// These have keys of the types that models had before.
type (
	CountedKey struct {
		gorm.Model
		Name string
	}
	PlainKey struct {
		ID   int64 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	UnsignedKey struct {
		ID   uint64 `gorm:"primaryKey;autoIncrement:false"`
		Name string
	}
	TextKey struct {
		ID   string `gorm:"primaryKey;type:varchar(20)"`
		Name string
	}
	HookedKey struct {
		ID   string `gorm:"primaryKey"`
		Name string
	}
)

func (k *HookedKey) BeforeCreate(*gorm.DB) error {
	if k.ID == "" {
		k.ID = "of the hook"
	}
	return nil
}

// Models with an int64 or a string for a key got a row with 0 or "", and no
// error.
func testGormPlainKeys(t *testing.T, url string) {
	db := openGormWithIDs(t, url)
	check(t, db.AutoMigrate(&CountedKey{}, &PlainKey{}, &UnsignedKey{}, &TextKey{}, &HookedKey{}))
	counted, plain, unsigned, hooked := CountedKey{}, []PlainKey{{}, {ID: 7}}, UnsignedKey{}, HookedKey{}
	text, row := TextKey{}, map[string]any{"name": "a map"}
	for _, rows := range []any{&counted, &plain, &unsigned, &text, &hooked} {
		check(t, db.Create(rows).Error)
	}
	check(t, db.Model(&TextKey{}).Create(row).Error)
	_, err := snowfence.Decimal.Parse(text.ID)
	if counted.ID != 1 || plain[0].ID < 1<<40 || plain[1].ID != 7 || unsigned.ID < 1<<40 ||
		hooked.ID != "of the hook" || err != nil || row["id"] == "" || row["id"] == text.ID {
		t.Errorf("%+v, %+v, %+v, %+v, %+v, %v", counted, plain, unsigned, text, hooked, row)
	}
}
