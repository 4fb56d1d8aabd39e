// snowfence.hpp: 64-bit IDs that never repeat within a namespace of a store. C++17, header only, over
// snowfence.h.
//
//	auto ids = snowfence::generator::open("sqlite:/var/lib/shop/ids.db");
//	std::int64_t id = ids.next();
//
//	thread_local snowfence::ring ring(ids);         // about a nanosecond an ID, for one thread
//	std::int64_t other = ring.next();
#pragma once

#include <snowfence.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace snowfence {

// What went wrong: what happened, to what, and what to do. status() is a number of snowfence.h.
class error : public std::runtime_error {
public:
	error(int status, const std::string &text) : std::runtime_error(text), status_(status) {}
	int status() const noexcept { return status_; }

private:
	int status_;
};

namespace detail {
inline void check(int status)
{
	if (status == SNOWFENCE_OK)
		return;
	char text[1024];
	snowfence_last_error(text, sizeof text);
	throw error(status, text);
}
inline const char *whole(const std::string &s)
{
	if (s.find('\0') != std::string::npos)
		throw error(SNOWFENCE_INVALID, "a text has a zero byte");
	return s.c_str();
}
inline const char *text(const std::string &s) { return s.empty() ? nullptr : whole(s); }
} // namespace detail

// Makes IDs. Threads may share one. Its end gives the node back.
class generator {
public:
	static generator open(const std::string &store = "", const std::string &ns = "", const std::string &options = "")
	{
		snowfence_t *ids;
		detail::check(snowfence_open(detail::text(store), detail::text(ns), detail::text(options), &ids));
		return generator(ids);
	}
	static generator open_statefile(const std::string &path, std::int64_t node, const std::string &layout = "",
	                                const std::string &options = "")
	{
		snowfence_t *ids;
		detail::check(snowfence_open_statefile(detail::whole(path), detail::text(layout), node, detail::text(options), &ids));
		return generator(ids);
	}
	static generator open_static(std::int64_t node, const std::string &layout = "", const std::string &options = "")
	{
		snowfence_t *ids;
		detail::check(snowfence_open_static(detail::text(layout), node, detail::text(options), &ids));
		return generator(ids);
	}

	generator(generator &&other) noexcept : ids_(std::exchange(other.ids_, nullptr)) {}
	generator &operator=(generator &&other) noexcept
	{
		std::swap(ids_, other.ids_);
		return *this;
	}
	generator(const generator &) = delete;
	generator &operator=(const generator &) = delete;
	~generator()
	{
		if (ids_ != nullptr)
			snowfence_close(ids_); // an error means that the node is free later: close() tells
	}

	std::int64_t next()
	{
		std::int64_t id;
		detail::check(snowfence_next(ids_, &id));
		return id;
	}
	std::vector<std::int64_t> take(std::size_t n)
	{
		std::vector<std::int64_t> made(n);
		detail::check(snowfence_fill(ids_, made.data(), n, nullptr));
		return made;
	}
	snowfence_parts_t decode(std::int64_t id) const
	{
		snowfence_parts_t parts;
		detail::check(snowfence_decode_own(ids_, id, &parts));
		return parts;
	}
	// Gives the node back, and throws if the store did not answer.
	void close()
	{
		if (ids_ != nullptr)
			detail::check(snowfence_close(std::exchange(ids_, nullptr)));
	}
	snowfence_t *handle() const noexcept { return ids_; }

private:
	explicit generator(snowfence_t *ids) : ids_(ids) {}
	snowfence_t *ids_;
};

// IDs taken ahead, for one thread. A copy would make the same IDs.
class ring {
public:
	explicit ring(const generator &ids) : ids_(ids.handle()), ring_() {}
	ring(const ring &) = delete;
	ring &operator=(const ring &) = delete;
	std::int64_t next()
	{
		std::int64_t id = 0;
		if (int status = snowfence_ring_next(&ring_, ids_, &id); status != SNOWFENCE_OK)
			detail::check(status);
		return id;
	}

private:
	snowfence_t *ids_;
	snowfence_ring_t ring_;
};

// Takes an ID apart; "" is the default layout.
inline snowfence_parts_t decode(std::int64_t id, const std::string &layout = "")
{
	snowfence_parts_t parts;
	detail::check(snowfence_decode(detail::text(layout), id, &parts));
	return parts;
}

// Writes an ID as text, such as "base58"; "" is decimal.
inline std::string format(std::int64_t id, const std::string &encoding = "")
{
	char text[SNOWFENCE_TEXT_SIZE];
	detail::check(snowfence_format(id, detail::text(encoding), text, sizeof text, nullptr));
	return text;
}

// Reads the text of an ID.
inline std::int64_t parse(const std::string &text, const std::string &encoding = "")
{
	std::int64_t id;
	detail::check(snowfence_parse(detail::whole(text), detail::text(encoding), &id));
	return id;
}

} // namespace snowfence
