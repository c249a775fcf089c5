#define BOOST_TEST_MODULE h5
#include <boost/test/unit_test.hpp>
