#define BOOST_TEST_MODULE tokens
#include <boost/test/unit_test.hpp>
