// libjpeg reports errors by a function that must not return, so it jumps (longjmp) to the member
// function of JpegReader that called the library. All that has a destructor belongs to the caller
// of that function, so a jump skips none, and every member function with a setjmp has trivial
// locals only. Warnings arrive by another function: those about the coded pixels count as errors,
// because libjpeg would fill in guesses.
//
// A file that is cut is told from one that lacks only its end marker by the warning that the
// Huffman decoder ran out of data. The arithmetic decoder does not warn, and of a progressive file
// whole scans may be absent, so these need their end marker. The number of scans is checked by the
// progress monitor, which libjpeg calls for each row of blocks while it collects the scans of a
// progressive file. A limit on libjpeg's own memory bounds the coefficients of such files.
#include "boinc_app/pictures/jpeg_decoder.hpp"

// jpeglib.h needs these two first.
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

#include <jerror.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "boinc_app/pictures/jpeg_segments.hpp"
#include "boinc_app/pictures/orientation.hpp"

namespace dedloc::pictures {
namespace {

constexpr unsigned kScales = 8;
constexpr long kExtraMemory = 16 << 20;    // tables, rows, and blocks that fill up the last MCUs
constexpr std::size_t kBytesPerPixel = 8;  // four components of two bytes
constexpr int kTooManyScansCode = -1;      // libjpeg's codes are positive

/// What the callbacks of libjpeg need; `base` is first, because they get a pointer to it.
struct ErrorState {
    jpeg_error_mgr base{};
    std::jmp_buf jump{};
    int code = 0;                                 ///< the error
    std::array<char, JMSG_LENGTH_MAX> message{};  ///< libjpeg's sentence
};
/// The same for the progress monitor.
struct ScanLimit {
    jpeg_progress_mgr base{};
    std::uint32_t max_scans = 0;
};

Fault fault_of(int code) {
    switch (code) {
        case kTooManyScansCode:
            return Fault::kTooManyScans;
        case JERR_NO_SOI:
        case JERR_INPUT_EMPTY:
            return Fault::kNotAPicture;
        case JERR_IMAGE_TOO_BIG:
        case JERR_WIDTH_OVERFLOW:
        case JERR_NO_BACKING_STORE:
            return Fault::kTooLarge;
        case JERR_INPUT_EOF:
        case JWRN_HIT_MARKER:
        case JWRN_JPEG_EOF:
            return Fault::kTruncated;
        case JERR_ARITH_NOTIMPL:
        case JERR_BAD_PRECISION:
        case JERR_CCIR601_NOTIMPL:
        case JERR_COMPONENT_COUNT:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_FRACT_SAMPLE_NOTIMPL:
        case JERR_NOTIMPL:
        case JERR_NOT_COMPILED:
        case JERR_SOF_UNSUPPORTED:
            return Fault::kUnsupported;
        default:
            return Fault::kBroken;
    }
}

/// Whether every pixel is still the file's own after this warning.
bool is_harmless(int warning, const jpeg_decompress_struct& info) {
    switch (warning) {
        case JWRN_ADOBE_XFORM:
        case JWRN_BOGUS_ICC:
        case JWRN_EXTRANEOUS_DATA:
        case JWRN_JFIF_MAJOR:
            return true;
        case JWRN_JPEG_EOF:
            return info.progressive_mode == FALSE && info.arith_code == FALSE;
        default:
            return false;
    }
}

[[noreturn]] void jump_out(j_common_ptr info) {
    auto* const state = reinterpret_cast<ErrorState*>(info->err);
    state->code = state->base.msg_code;
    state->base.format_message(info, state->message.data());
    std::longjmp(state->jump, 1);
}

void on_message(j_common_ptr info, int level) {
    const auto* const decoder = reinterpret_cast<const jpeg_decompress_struct*>(info);
    if (level < 0 && !is_harmless(info->err->msg_code, *decoder)) jump_out(info);
}

void on_progress(j_common_ptr info) {
    const auto* const limit = reinterpret_cast<const ScanLimit*>(info->progress);
    const auto* const decoder = reinterpret_cast<const jpeg_decompress_struct*>(info);
    if (decoder->input_scan_number <= static_cast<int>(limit->max_scans)) return;
    auto* const state = reinterpret_cast<ErrorState*>(info->err);
    state->code = kTooManyScansCode;
    std::longjmp(state->jump, 1);
}

/// libjpeg's decoder of one file. Each function returns false after an error; then only fault() may
/// be called.
class JpegReader final {
  public:
    JpegReader(std::span<const std::byte> jpeg, const DecodeOptions& options);
    ~JpegReader();
    JpegReader(const JpegReader&) = delete;
    JpegReader& operator=(const JpegReader&) = delete;

    /// Reads up to the first scan.
    bool read_head();
    /// Chooses scale and colours; width(), height() and channels() are then those of the rows.
    bool start();
    /// Reads the next row: channels() × width() bytes.
    bool read_row(std::uint8_t* row);
    const jpeg_decompress_struct& info() const { return info_; }
    /// Throws std::bad_alloc if there was no memory.
    PictureFault fault() const;

  private:
    const std::span<const std::byte> jpeg_;
    const DecodeOptions options_;
    ErrorState errors_;
    ScanLimit limit_;
    jpeg_decompress_struct info_{};
};

JpegReader::JpegReader(std::span<const std::byte> jpeg, const DecodeOptions& options)
    : jpeg_(jpeg), options_(options) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = jump_out;
    errors_.base.emit_message = on_message;
    errors_.base.output_message = [](j_common_ptr) {};
    limit_.base.progress_monitor = on_progress;
    limit_.max_scans = options.max_scans;
}

JpegReader::~JpegReader() {
    jpeg_destroy_decompress(&info_);  // does nothing before jpeg_create_decompress()
}

bool JpegReader::read_head() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &limit_.base;
    info_.mem->max_memory_to_use =
        static_cast<long>(kBytesPerPixel * options_.max_pixels) + kExtraMemory;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(jpeg_.data()), jpeg_.size());
    jpeg_read_header(&info_, TRUE);
    return true;
}

bool JpegReader::start() {
    if (setjmp(errors_.jump) != 0) return false;
    const bool has_inks = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
    info_.out_color_space = has_inks ? JCS_CMYK : JCS_RGB;
    info_.scale_denom = kScales;
    for (info_.scale_num = 1; info_.scale_num <= kScales; ++info_.scale_num) {
        jpeg_calc_output_dimensions(&info_);
        if (std::min(info_.output_width, info_.output_height) >= options_.min_side) break;
    }
    info_.scale_num = std::min(info_.scale_num, kScales);
    jpeg_start_decompress(&info_);
    return true;
}

bool JpegReader::read_row(std::uint8_t* row) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_read_scanlines(&info_, &row, 1);
    return true;
}

PictureFault JpegReader::fault() const {
    if (errors_.code == JERR_OUT_OF_MEMORY) throw std::bad_alloc{};
    const Fault fault = fault_of(errors_.code);
    if (fault == Fault::kTooManyScans) {
        return {fault, fmt::format("it has more than {} scans", options_.max_scans)};
    }
    return {fault, fmt::format("libjpeg says: {}", errors_.message.data())};
}

std::optional<PictureFault> fault_of_size(const jpeg_decompress_struct& info,
                                          const DecodeOptions& options) {
    const std::uint64_t pixels = std::uint64_t{info.image_width} * info.image_height;
    if (pixels <= options.max_pixels) return {};
    return PictureFault{Fault::kTooLarge,
                        fmt::format("it claims {}x{} pixels, and {} are allowed", info.image_width,
                                    info.image_height, options.max_pixels)};
}

/// a × b / 255, rounded, as Pillow rounds it.
unsigned scaled(unsigned a, unsigned b) {
    const unsigned product = a * b + 128;
    return ((product >> 8) + product) >> 8;
}

/// Red, green, blue from inks that are stored inverted, as Adobe does: 255 is no ink.
void convert_inks(std::span<const std::uint8_t> inks, std::uint8_t* rgb) {
    for (std::size_t i = 0; i < inks.size(); i += 4, rgb += 3) {
        const unsigned white = inks[i + 3];
        for (std::size_t c = 0; c < 3; ++c) {
            const unsigned ink = 255u - inks[i + c];
            const unsigned taken = scaled(ink, white);
            rgb[c] = static_cast<std::uint8_t>(white > taken ? white - taken : 0);
        }
    }
}

std::optional<PictureFault> check_begin(std::span<const std::byte> jpeg) {
    if (JpegSegments{jpeg}.is_jpeg()) return {};
    return PictureFault{Fault::kNotAPicture, "it is not a JPEG"};
}

}  // namespace

Result<Picture, PictureFault> decode_jpeg(std::span<const std::byte> jpeg,
                                          const DecodeOptions& options) {
    if (auto fault = check_begin(jpeg)) return Failure{std::move(*fault)};
    JpegReader reader{jpeg, options};
    if (!reader.read_head()) return Failure{reader.fault()};
    if (auto fault = fault_of_size(reader.info(), options)) return Failure{std::move(*fault)};
    if (!reader.start()) return Failure{reader.fault()};
    Picture picture{.width = reader.info().output_width, .height = reader.info().output_height};
    const std::size_t row_bytes = std::size_t{3} * picture.width;
    picture.rgb.resize(row_bytes * picture.height);
    const bool has_inks = reader.info().out_color_space == JCS_CMYK;
    std::vector<std::uint8_t> inks(has_inks ? std::size_t{4} * picture.width : 0);
    for (std::size_t y = 0; y < picture.height; ++y) {
        std::uint8_t* const row = picture.rgb.data() + y * row_bytes;
        if (!reader.read_row(has_inks ? inks.data() : row)) return Failure{reader.fault()};
        if (has_inks) convert_inks(inks, row);
    }
    return oriented(std::move(picture), exif_orientation(jpeg));
}

Result<JpegHead, PictureFault> read_jpeg_head(std::span<const std::byte> jpeg,
                                              const DecodeOptions& options) {
    if (auto fault = check_begin(jpeg)) return Failure{std::move(*fault)};
    JpegReader reader{jpeg, options};
    if (!reader.read_head()) return Failure{reader.fault()};
    if (auto fault = fault_of_size(reader.info(), options)) return Failure{std::move(*fault)};
    JpegHead head{.width = reader.info().image_width, .height = reader.info().image_height};
    if (exif_orientation(jpeg) >= 5) std::swap(head.width, head.height);
    return head;
}

}  // namespace dedloc::pictures
