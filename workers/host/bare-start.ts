/**
 * A program inherits every descriptor that is not closed on exec, and LMDB opens its files for reading and writing
 * without that flag: a program with such a descriptor can read every key and make its user Administrator. Node can
 * neither mark nor close descriptors that it did not open. So each program is started through Perl (of perl-base, which
 * every Debian system has), which closes all but the standard ones, whatever opened them and whenever, and then becomes
 * the program: same process id, same environment. 436 is close_range on every architecture; kernels before 5.9 lack it,
 * and there each descriptor is closed by number.
 */
const CLOSE_ALL_AND_BECOME = String.raw`
if (syscall(436, 3, 0xffffffff, 0) != 0) {
  require POSIX;
  opendir my $list, '/proc/self/fd' or die "the open descriptors cannot be listed: $!\n";
  my @open = grep { /^\d+$/ && $_ > 2 } readdir $list;
  closedir $list;
  POSIX::close($_) for @open;
}
exec { $ARGV[0] } @ARGV or print STDERR "$ARGV[0]: $!\n" and exit 126;
`

/** Returns the command that starts `program` with its standard descriptors and no others. */
export function bareStart(program: string, args: readonly string[]): readonly [string, readonly string[]] {
  return ['/usr/bin/perl', ['-e', CLOSE_ALL_AND_BECOME, '--', program, ...args]]
}
