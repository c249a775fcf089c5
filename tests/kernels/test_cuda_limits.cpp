// What the CUDA operations do with sizes: chunks, sorts longer than a block's, refusals.
#include <boost/test/unit_test.hpp>

#include "compare_ops.hpp"
#include "core/error.hpp"
#include "cuda_implementations.hpp"

namespace shardgpt::test {
namespace {

BOOST_AUTO_TEST_SUITE(cuda_limits)

/// Chunks that do not divide the tokens, several of them to a group and several groups.
BOOST_AUTO_TEST_CASE(chunks_of_the_classifier_change_nothing) {
  const CaseSizes sizes{{3, 37}, 48, 3, 503, 512, 8};
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Implementation reference = make_reference(dtype);
    const Implementation chunked = make_cuda(dtype, sizes.limits(), {.logit_rows = 10, .group_rows = 35});
    for (const NamedCase& op : op_cases()) {
      if (std::string(op.name).starts_with("classifier")) {
        check_close(op.run(chunked, sizes), op.run(reference, sizes), dtype, op.name);
      }
    }
  }
}

/// More tokens than one block sorts, few ids: runs of hundreds of equal keys.
BOOST_AUTO_TEST_CASE(embedding_gradients_of_many_tokens) {
  for (const BatchShape shape : {BatchShape{3, 700}, BatchShape{1, 1024}, BatchShape{1, 1025}}) {
    const CaseSizes sizes{shape, 16, 1, 5, 8, 8};
    const Implementation reference = make_reference(DType::f32);
    const Implementation tested = make_cuda(DType::f32, sizes.limits());
    const NamedCase& embedding = op_cases().front();
    check_close(embedding.run(tested, sizes), embedding.run(reference, sizes), DType::f32,
                "tokens " + std::to_string(sizes.tokens()));
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_are_not_served_are_refused) {
  const OpsLimits good{1, 8, 64, 4, 64};
  for (OpsLimits bad : {OpsLimits{1, 8, 60, 4, 64}, OpsLimits{1, 8, 4104, 27, 64},
                        OpsLimits{1, 8, 1024, 2, 64}, OpsLimits{1, 8, 64, 4, 61}}) {
    BOOST_CHECK_THROW(make_cuda(DType::bf16, bad), InputError);
  }
  BOOST_CHECK_NO_THROW(make_cuda(DType::bf16, good));
}

BOOST_AUTO_TEST_CASE(operations_larger_than_their_limits_are_refused) {
  const CaseSizes small{{1, 8}, 48, 3, 61, 64, 8};
  const CaseSizes large{{1, 37}, 48, 3, 503, 512, 8};
  const Implementation tested = make_cuda(DType::f32, small.limits());
  for (const NamedCase& op : op_cases()) {
    if (std::string(op.name) != "gelu") {  // needs no scratch memory
      BOOST_CHECK_THROW(op.run(tested, large), std::logic_error);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace shardgpt::test
