// Prints IDs: g++ -O2 -std=c++17 example.cpp $(pkg-config --cflags --libs snowfence) -o example && ./example STORE N
#include "snowfence.hpp"

#include <cstdlib>
#include <iostream>

int main(int argc, char **argv)
try {
	if (argc != 3)
		return 2;
	auto ids = snowfence::generator::open(argv[1], "", "label=cpp-example");
	snowfence::ring ring(ids);
	for (long n = std::atol(argv[2]); n > 0; n--)
		std::cout << ring.next() << '\n';
	ids.close();
} catch (const snowfence::error &e) {
	std::cerr << e.what() << '\n';
	return 1;
}
