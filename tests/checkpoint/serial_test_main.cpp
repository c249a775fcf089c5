#define BOOST_TEST_MODULE checkpoint_format
#include <boost/test/unit_test.hpp>
