/**
 * The program in Perl that holds a TUN device; see tun-device.ts. Its arguments are the name, the
 * MTU and the addresses. Packets in both directions are two bytes of length, high byte first, and
 * the packet. It first sends a length of 0, when the device is up, and ends when its standard input
 * does.
 *
 * TUNSETIFF is 0x400454ca. The flags are IFF_TUN (1) and IFF_NO_PI (0x1000), so packets come
 * without a header of the device (linux/if_tun.h).
 */
export const TUN_PROGRAM = String.raw`
use strict;
use warnings;
my ($name, $mtu, @addresses) = @ARGV;
open(my $tun, '+<', '/dev/net/tun') or die "/dev/net/tun: $!\n";
ioctl($tun, 0x400454ca, my $request = pack('a16 S x22', $name, 0x1001)) or die "TUNSETIFF: $!\n";
for my $words (['link', 'set', $name, 'mtu', $mtu, 'up'], map { ['addr', 'add', $_, 'dev', $name] } @addresses) {
  system('ip', @$words) == 0 or die "ip @$words failed\n";
}
$SIG{PIPE} = 'DEFAULT';
sub deliver {
  my ($bytes) = @_;
  for (my $at = 0; $at < length $bytes; ) {
    my $written = syswrite(STDOUT, $bytes, length($bytes) - $at, $at);
    exit 0 unless defined $written;
    $at += $written;
  }
}
deliver(pack('n', 0));
my $waiting = '';
my ($device, $input) = (fileno $tun, fileno STDIN);
while (1) {
  my $ready = '';
  vec($ready, $device, 1) = 1;
  vec($ready, $input, 1) = 1;
  select($ready, undef, undef, undef) > 0 or next;
  if (vec($ready, $device, 1) && sysread($tun, my $packet, 65535)) {
    deliver(pack('n', length $packet) . $packet);
  }
  next unless vec($ready, $input, 1);
  sysread(STDIN, $waiting, 65536, length $waiting) or exit 0;
  my $at = 0;
  while (length($waiting) - $at >= 2) {
    my $length = unpack('n', substr($waiting, $at, 2));
    last if length($waiting) - $at - 2 < $length;
    syswrite($tun, substr($waiting, $at + 2, $length));
    $at += 2 + $length;
  }
  substr($waiting, 0, $at, '');
}
`;
