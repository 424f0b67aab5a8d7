// libpng reports errors by a function that must not return, so it jumps (longjmp) to the member
// function of PngReader that called the library; these have trivial locals only, and what has a
// destructor belongs to their callers. The size is checked between the head and the first row.
// Chunks that no pixel needs are skipped unread, since some of them are compressed.
#include "project_server/pictures/png_reader.hpp"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "peer/base/bytes.hpp"

namespace dedloc::pictures {
namespace {

constexpr std::array<unsigned char, 8> kSignature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
constexpr std::size_t kMaxChunkBytes = 8 << 20;  // a chunk that libpng keeps

/// Names of chunks that are skipped: those without an effect on colours, and transparency; with the
/// zero that ends each.
constexpr std::string_view kSkipped{
    "bKGD\0cHRM\0eXIf\0gAMA\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0pHYs\0sBIT\0sCAL\0sPLT\0sRGB\0tEXt\0"
    "tIME\0tRNS\0zTXt\0",
    18 * 5};

/// libpng's decoder of one file. Functions that read return false after an error; then only
/// fault() may be called.
class PngReader final {
  public:
    explicit PngReader(std::span<const std::byte> png) : rest_(png) {}
    ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;

    /// Reads up to the first chunk of pixels.
    bool read_head();
    std::uint32_t width() const { return png_get_image_width(png_, info_); }
    std::uint32_t height() const { return png_get_image_height(png_, info_); }
    /// Reads all pixels: three bytes each, `rows` of them.
    bool read_rows(std::span<png_bytep> rows);
    PictureFault fault() const;

  private:
    [[noreturn]] static void on_error(png_structp png, png_const_charp message);
    static void on_read(png_structp png, png_bytep out, std::size_t count);

    std::span<const std::byte> rest_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    std::jmp_buf jump_{};
    std::array<char, 200> message_{};
    bool is_truncated_ = false;
};

void PngReader::on_error(png_structp png, png_const_charp message) {
    auto* const self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self->message_.data(), message, self->message_.size() - 1);
    std::longjmp(self->jump_, 1);
}

void PngReader::on_read(png_structp png, png_bytep out, std::size_t count) {
    auto* const self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->rest_.size()) {
        self->is_truncated_ = true;
        png_error(png, "the file ends early");
    }
    std::memcpy(out, self->rest_.data(), count);
    self->rest_ = self->rest_.subspan(count);
}

bool PngReader::read_head() {
    if (setjmp(jump_) != 0) return false;
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error,
                                  [](png_structp, png_const_charp) {});
    if (png_ == nullptr) return false;
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) return false;
    png_set_read_fn(png_, this, on_read);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(png_, kMaxChunkBytes);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER,
                                reinterpret_cast<png_const_bytep>(kSkipped.data()),
                                static_cast<int>(kSkipped.size() / 5));
    png_read_info(png_, info_);
    return true;
}

bool PngReader::read_rows(std::span<png_bytep> rows) {
    if (setjmp(jump_) != 0) return false;
    png_set_palette_to_rgb(png_);
    png_set_expand_gray_1_2_4_to_8(png_);
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != std::size_t{3} * width()) {
        png_error(png_, "pixels of an unknown form");
    }
    png_read_image(png_, rows.data());
    png_read_end(png_, nullptr);
    return true;
}

PictureFault PngReader::fault() const {
    const std::string_view message{message_.data()};
    if (message.empty() || message == "Out of memory") throw std::bad_alloc{};
    return {is_truncated_ ? Fault::kTruncated : Fault::kBroken,
            fmt::format("libpng says: {}", message_.data())};
}

}  // namespace

bool is_png(std::span<const std::byte> bytes) {
    return bytes.size() >= kSignature.size() &&
           std::ranges::equal(bytes.first(kSignature.size()), std::as_bytes(std::span{kSignature}));
}

Result<Picture, PictureFault> read_png(std::span<const std::byte> png, std::uint64_t max_pixels) {
    if (!is_png(png)) return Failure{PictureFault{Fault::kNotAPicture, "it is not a PNG"}};
    PngReader reader{png};
    if (!reader.read_head()) return Failure{reader.fault()};
    Picture picture{.width = reader.width(), .height = reader.height()};
    if (std::uint64_t{picture.width} * picture.height > max_pixels) {
        return Failure{
            PictureFault{Fault::kTooLarge, fmt::format("it claims {}x{} pixels, and {} are allowed",
                                                       picture.width, picture.height, max_pixels)}};
    }
    const std::size_t row_bytes = std::size_t{3} * picture.width;
    picture.rgb.resize(row_bytes * picture.height);
    std::vector<png_bytep> rows(picture.height);
    for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = picture.rgb.data() + y * row_bytes;
    if (!reader.read_rows(rows)) return Failure{reader.fault()};
    return picture;
}

}  // namespace dedloc::pictures
