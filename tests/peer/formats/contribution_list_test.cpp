// Lists of contributions: what is written is read again, and damaged lines are named.
#include "peer/formats/contribution_list.hpp"

#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "peer/formats/source_spec.hpp"

namespace dedloc::formats {
namespace {

CountedSamples counted(std::uint64_t step, unsigned char peer, std::uint64_t samples) {
    CountedSamples one{.step = StepIndex{step}, .peer = {}, .samples = Samples{samples}};
    one.peer.bytes.fill(std::byte{peer});
    return one;
}

TEST_CASE("a list of contributions is read as it was written", "[formats]") {
    std::vector<CountedSamples> list{counted(0, 1, 64), counted(0, 2, 128), counted(3, 1, 1)};
    list[1].weights = {1, 0, kMaxSourceWeight};
    list[2].weights = {7};
    std::string text = "# step peer samples\n\n";
    for (const CountedSamples& one : list) text += contribution_line(one);
    CHECK(parse_contributions(text, "file") == list);
    text.pop_back();  // the end of the last line
    CHECK(parse_contributions(text, "file") == list);
}

TEST_CASE("a bad list of contributions is refused with the number of its line", "[formats]") {
    const std::string good = contribution_line(counted(5, 1, 64));
    const std::string key = counted(0, 2, 1).peer.hex();
    const auto refuses = [&](const std::string& line, const std::string& why) {
        CHECK_THROWS_WITH(parse_contributions(good + line, "file"), "line 2 of file " + why);
    };
    refuses("x", "has no step");
    refuses("-1 " + key + " 64", "has no step");
    refuses("99999999999999999999 " + key + " 64", "has no step");
    refuses("6", "has no key of a peer");
    refuses("6 " + key.substr(1) + " 64", "has no key of a peer");
    refuses("6 " + key + "00 64", "has no key of a peer");
    refuses("6 " + key, "has no number of samples");
    refuses("6 " + key + " 0", "has no number of samples");
    refuses("6 " + key + " 6.5", "has no number of samples");
    for (const char* const weights :
         {"x", "1,", ",1", "1,,2", "-1", "1000001", "1;2", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"}) {
        refuses("6 " + key + " 64 " + weights, "has weights that are none");
    }
    refuses("6 " + key + " 64 1 1", "has more than step, peer, samples and weights");
    refuses("4 " + key + " 64", "goes back to an older step");
    refuses(good, "names a peer twice in a step");
    refuses(std::string(1, '\0'), "has no step");
    CHECK_THROWS_WITH(parse_contributions("", "file"), "file has no contribution");
    CHECK_THROWS_WITH(parse_contributions("# none\n", "file"), "file has no contribution");
}

}  // namespace
}  // namespace dedloc::formats
