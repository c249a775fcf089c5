// A staged copy is the state at its border, whatever training does meanwhile, and changes nothing for
// training.
#include <bit>

#include "tests/support/random_delays.hpp"
#include "tests/train/trainer_fixture.hpp"

using namespace shardgpt;
using namespace shardgpt::test;

namespace {

const ReferenceCase& tiny_a() {
  static const ReferenceCase instance("tiny-a");
  return instance;
}

std::vector<std::uint32_t> bits_of(std::span<const ShardPiece> pieces) {
  std::vector<std::uint32_t> bits;
  for (const ShardPiece& piece : pieces) {
    bits.push_back(static_cast<std::uint32_t>(piece.begin));
    for (const std::span<float> values : {piece.param, piece.adam_m, piece.adam_v}) {
      for (const float value : values) {
        bits.push_back(std::bit_cast<std::uint32_t>(value));
      }
    }
  }
  return bits;
}

void submit(CaseTrainer& trainer, std::int64_t first, std::int64_t last) {
  for (std::int64_t step = first; step < last; ++step) {
    trainer.trainer().submit_step(step, trainer.batch(step), trainer.lr(step), {});
  }
}

std::vector<std::uint32_t> state_after(std::int64_t steps) {
  CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::bf16, 2);
  submit(trainer, 0, steps);
  return bits_of(trainer.trainer().shards());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(staging)

BOOST_AUTO_TEST_CASE(a_copy_holds_the_state_of_its_border) {
  const std::vector<std::uint32_t> after_two = state_after(2);
  const std::vector<std::uint32_t> after_three = state_after(3);
  const std::vector<std::uint32_t> after_five = state_after(5);
  for (unsigned seed = 0; seed < 2; ++seed) {
    const auto delays =
        std::make_shared<RandomDelays>(seed * 101U + static_cast<unsigned>(session().world().rank()));
    CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::bf16, 2, delays, 2, nullptr, Staging::yes);
    submit(trainer, 0, 2);
    trainer.trainer().stage_shards();
    submit(trainer, 2, 3);  // the host goes on at once
    const ShardStaging& copies = trainer.trainer().staging();
    copies.wait();
    REQUIRE_ON_ALL_RANKS(bits_of(copies.pieces()) == after_two);
    BOOST_TEST(copies.copy_seconds() >= 0);
    trainer.trainer().stage_shards();
    submit(trainer, 3, 5);
    copies.wait();
    REQUIRE_ON_ALL_RANKS(bits_of(copies.pieces()) == after_three);
    REQUIRE_ON_ALL_RANKS(bits_of(trainer.trainer().shards()) == after_five);
  }
}

BOOST_AUTO_TEST_CASE(weights_of_before_the_first_step_can_be_staged) {
  CaseTrainer trainer(tiny_a(), &make_reference_ops, DType::bf16, 2, nullptr, 2, nullptr, Staging::yes);
  const std::vector<std::uint32_t> start = bits_of(trainer.trainer().shards());
  trainer.trainer().stage_shards();
  submit(trainer, 0, 1);
  trainer.trainer().staging().wait();
  REQUIRE_ON_ALL_RANKS(bits_of(trainer.trainer().staging().pieces()) == start);
}

BOOST_AUTO_TEST_SUITE_END()
