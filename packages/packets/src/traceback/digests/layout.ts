/**
 * The map of the memory in which the WebAssembly twin digests a batch:
 *
 *     16       SECRET    the key of SipHash, 16 bytes
 *     32       CUT       out: packets whose bytes end too early
 *     256      SCRATCH   the invariant bytes of two packets, the other one at 2048
 *     4096     STATUS    columns of the batch, as PacketBatch and HeaderBatch hold them
 *     8192     STARTS
 *     24576    CAPTURED
 *     40960    HEADERS
 *     57344    LENGTHS
 *     73728    HASHES    out: 64 bits for each digested packet
 *     106496   ROWS      out: its row
 *     122880   NANOSECONDS
 *     139264   SECONDS
 *     172032   TIMES     out: seconds since 1970 for each digested packet
 *     204800   SOURCES   out: 64 bits for each source that was not noted just before
 *     237568             out: its time
 *     270336   RECENT    sources that were noted lately: slots of an address and a time, 32 bytes
 *     589824   BYTES     the packets themselves
 */

export const LAYOUT = {
  secret: 16,
  cut: 32,
  sourceCount: 36,
  status: 4096,
  starts: 8192,
  captured: 24576,
  headers: 40960,
  lengths: 57344,
  hashes: 73728,
  rows: 106496,
  nanoseconds: 122880,
  seconds: 139264,
  times: 172032,
  sourceHashes: 204800,
  sourceTimes: 237568,
  recent: 270336,
  bytes: 589824,
} as const;

/** Rows that the columns hold. */
export const MOST_ROWS = 4096;
/** Sources that are remembered as noted. */
export const RECENT_SLOTS = 8192;
