// Linked into test programs under AddressSanitizer. Open MPI unloads components whose memory it never frees;
// the frames of those leaks would have no library name that tests/lsan.supp could match.
extern "C" int dlclose(void* /*library*/) {
  return 0;
}
