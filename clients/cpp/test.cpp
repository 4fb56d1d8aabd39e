// Checks the header: test STORE VECTORS. Prints "ok".
#include "snowfence.hpp"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>
#include <type_traits>
#include <unordered_set>

// A copied ring made the same IDs as its original.
static_assert(!std::is_copy_constructible_v<snowfence::ring> && !std::is_copy_assignable_v<snowfence::ring>);
static_assert(!std::is_move_constructible_v<snowfence::ring>);
static_assert(!std::is_copy_constructible_v<snowfence::generator>);
static_assert(std::is_nothrow_move_constructible_v<snowfence::generator>);

static void must(bool ok, const std::string &what)
{
	if (!ok)
		throw std::runtime_error(what);
}

template <typename F> static void expect(int status, const std::string &text, F call)
{
	try {
		call();
	} catch (const snowfence::error &e) {
		must(e.status() == status && std::string(e.what()).find(text) != std::string::npos, e.what());
		return;
	}
	must(false, "nothing was thrown about " + text);
}

static void vectors(const char *path)
{
	std::ifstream in(path);
	int n = 0;
	for (std::string line; std::getline(in, line); n++) {
		std::istringstream words(line);
		std::string layout, id, want;
		words >> layout >> id;
		auto p = snowfence::decode(std::stoll(id), layout);
		for (std::int64_t got : {p.tick, p.node, p.sequence, p.rollback, p.scatter, p.tag}) {
			words >> want;
			must(want == "-" || std::stoll(want) == got, line);
		}
	}
	must(n > 40, "vectors");
	must(snowfence::parse(snowfence::format(1LL << 62, "base58"), "base58") == 1LL << 62, "base58");
	expect(SNOWFENCE_INVALID, "xyz", [] { snowfence::parse("xyz"); });
	expect(SNOWFENCE_INVALID, "zero", [] { snowfence::parse(std::string("1\0002", 3)); });
}

static void threads(const snowfence::generator &ids)
{
	std::vector<std::vector<std::int64_t>> lists(4);
	std::vector<std::thread> all;
	for (auto &list : lists)
		all.emplace_back([&] {
			snowfence::ring ring(ids);
			for (int i = 0; i < 20000; i++)
				list.push_back(ring.next());
		});
	for (auto &t : all)
		t.join();
	std::unordered_set<std::int64_t> made;
	for (auto &list : lists)
		for (std::size_t i = 0; i < list.size(); i++)
			must(made.insert(list[i]).second && (i == 0 || list[i] > list[i - 1]), "IDs of threads");
}

int main(int argc, char **argv)
try {
	must(argc == 3, "STORE VECTORS");
	vectors(argv[2]);
	expect(SNOWFENCE_INVALID, "leed", [] { snowfence::generator::open("mem:", "", "leed=1"); });
	auto ids = snowfence::generator::open(argv[1], "", "label=cpp,lead=2000");
	threads(ids);
	snowfence::ring ring(ids);
	ring.next(); // so that some are left
	auto other = std::move(ids);
	must(other.decode(ring.next()).node == other.decode(other.take(3)[2]).node, "decode");
	expect(SNOWFENCE_INVALID, "NULL", [&] { ids.next(); });
	{
		auto number = snowfence::generator::open_static(9);
		expect(SNOWFENCE_TAKEN, "9", [] { snowfence::generator::open_static(9); });
		number = snowfence::generator::open_static(10);
		snowfence::generator::open_static(9).close();
	}
	snowfence::generator::open_static(10).close();
	other.close();
	other.close();
	for (int i = 0; i < 20; i++)
		expect(SNOWFENCE_CLOSED, "closed", [&] { ring.next(); });
	std::cout << "ok\n";
} catch (const std::exception &e) {
	std::cerr << e.what() << '\n';
	return 1;
}
