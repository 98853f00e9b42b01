import { isHost } from '../../base/host-name.ts'
import type { SystemProxy } from '../../model/node.ts'
import { type BypassKind, bypassKind } from '../../rules/proxy-bypass.ts'
import { writtenHere } from '../fragment.ts'

/** A configured proxy with an address. Its password is never shown, only its absence. */
export interface ProxyInUse {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly bypass: readonly { readonly entry: string; readonly kind: BypassKind }[]
}

/** Returns undefined when no proxy is used. A text that is no host, address or network never reaches a file. */
export function proxyInUse(settings: SystemProxy | undefined): ProxyInUse | undefined {
  if (settings?.enable !== true || settings.address === null || !isHost(settings.address.value)) return undefined
  const { username, password } = settings
  const bypass = settings.bypass.flatMap((entry) => {
    const kind = bypassKind(entry)
    return kind === undefined ? [] : [{ entry, kind }]
  })
  return { host: settings.address.value, port: settings.address.port, username, password, bypass }
}

/** Encodes everything but letters and digits, so that no character has a meaning in the URL or its file. */
function encoded(text: string): string {
  return [...Buffer.from(text, 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte)
      return /[A-Za-z0-9]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}

function proxyUrl({ host, port, username, password }: ProxyInUse): string {
  const secret = password === '' ? '' : `:${encoded(password)}`
  const user = username === '' && secret === '' ? '' : `${encoded(username)}${secret}@`
  return `http://${user}${host.includes(':') ? `[${host}]` : host}:${port}/`
}

/** Renders the configuration of apt: a proxy for everything, and a program that apt asks first for each host. */
export function renderApt(proxy: ProxyInUse, script: string): string {
  const url = proxyUrl(proxy)
  const detect =
    proxy.bypass.length === 0 ? [] : ['http', 'https'].map((scheme) => directive(scheme, 'Proxy-Auto-Detect', script))
  return writtenHere([directive('http', 'Proxy', url), directive('https', 'Proxy', url), ...detect])
}

const directive = (scheme: string, name: string, value: string) => `Acquire::${scheme}::${name} "${value}";`

/** Renders the environment of programs that the daemon starts, for systemd's EnvironmentFile=. */
export function renderEnvironment(proxy: ProxyInUse): string {
  const url = proxyUrl(proxy)
  const values = [
    ['http_proxy', url],
    ['https_proxy', url],
    ['no_proxy', proxy.bypass.map(({ entry }) => entry).join(',')],
  ] as const
  const lines = values.flatMap(([name, value]) => [`${name}=${value}`, `${name.toUpperCase()}=${value}`])
  return writtenHere(lines)
}

/**
 * Renders the script that apt calls with a URL: it prints DIRECT for hosts without the proxy, and nothing otherwise.
 * Holds no secret.
 */
export function renderBypass({ bypass }: ProxyInUse): string {
  const list = (...kinds: readonly BypassKind[]) =>
    bypass
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ entry }) => `    '${entry.toLowerCase()}',`)
      .join('\n')
  const [comment = ''] = writtenHere([]).split('\n')
  return BYPASS_SCRIPT.replace('#COMMENT#', comment)
    .replace('#DOMAINS#', list('domain'))
    .replace('#SUFFIXES#', list('suffix'))
    .replace('#NETWORKS#', list('address', 'network'))
}

/** In Perl, because its base package is on every Debian. */
const BYPASS_SCRIPT = String.raw`#!/usr/bin/perl
#COMMENT#
use strict;
use warnings;
use Socket qw(AF_INET AF_INET6 inet_pton);

my @domains = (
#DOMAINS#
);
my @suffixes = (
#SUFFIXES#
);
my @networks = (
#NETWORKS#
);

# The bits of an address; nothing for a name.
sub bits {
    my ($text) = @_;
    my $packed = inet_pton($text =~ /:/ ? AF_INET6 : AF_INET, $text);
    return defined $packed ? unpack('B*', $packed) : undef;
}

my $host = lc($ARGV[0] // '');
$host =~ s{^[a-z0-9+.-]+://}{};
$host =~ s{[/?#].*}{}s;
$host =~ s{^.*@}{}s;
if ($host =~ /^\[([^\]]*)\]/) { $host = $1 }
else { $host =~ s/:\d*$// }
$host =~ s/\.$//;

sub is_direct {
    my $address = bits($host);
    if (!defined $address) {
        for (@domains) { return 1 if $host eq $_ || substr($host, -length($_) - 1) eq ".$_" }
        for (@suffixes) { return 1 if length($host) > length($_) && substr($host, -length($_)) eq $_ }
        return 0;
    }
    for (@networks) {
        my ($network, $prefix) = split m{/};
        my $wanted = bits($network);
        next if length($wanted) != length($address);
        $prefix //= length($wanted);
        return 1 if substr($wanted, 0, $prefix) eq substr($address, 0, $prefix);
    }
    return 0;
}

print "DIRECT\n" if is_direct();
`
