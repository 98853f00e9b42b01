import type { ServiceEntry } from '../../src/ipvs/table.ts'

/** The exit of `ipvsadm`, and its error output. */
export interface Ran {
  readonly code: number
  readonly stderr: string
}

/** One line of /proc/net/ip_vs_conn. A template of a persistent client has the client port 0. */
export interface ConnectionEntry {
  readonly protocol: string
  readonly client: string
  readonly clientPort: number
  readonly service: string
  readonly servicePort: number
  readonly server: string
  readonly serverPort: number
  readonly state: string
  readonly expires_s: number
}

/** The parts of a kernel that the conformance test needs: a real one in a virtual machine, or the simulator. */
export interface IpvsKernel {
  /** Runs `ipvsadm` with these arguments. */
  run(argv: readonly string[]): Promise<Ran>
  /** The table in the form of the daemon's reader. */
  dump(): Promise<readonly ServiceEntry[]>
  connections(): Promise<readonly ConnectionEntry[]>
  /**
   * Opens one TCP connection of this client, of which so many bytes go to the server; returns the address of the server
   * that accepted it. Absent where the test cannot make traffic.
   */
  connect?(client: string, service: string, port: number): Promise<string | undefined>
  /** Lets the kernel count: its figures are those of the last full two seconds. */
  settle?(): Promise<void>
}

/** Reads a table of the kernel as text, for tests that read it in a machine. */
export function connectionsOf(text: string): readonly ConnectionEntry[] {
  return text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields.length >= 9)
    .map(
      ([protocol = '', client = '', from = '', service = '', to = '', server = '', port = '', state = '', s = '']) => ({
        protocol,
        client: addressOf(client),
        clientPort: Number.parseInt(from, 16),
        service: addressOf(service),
        servicePort: Number.parseInt(to, 16),
        server: addressOf(server),
        serverPort: Number.parseInt(port, 16),
        state,
        expires_s: Number(s),
      }),
    )
}

/** IPv4 is one hexadecimal number there; IPv6 is in brackets or plain. */
function addressOf(text: string): string {
  if (!/^[0-9A-F]{8}$/i.test(text)) return text.replaceAll(/[[\]]/g, '')
  return (text.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).join('.')
}
