/**
 * Prints the kernel's balancing table as the daemon reads it: `systemd/notify-exec node test/simulators/ipvs-dump.ts`.
 */
import { descriptorChannel, descriptorOf } from '../../src/ipvs/descriptor.ts'
import { IpvsReader } from '../../src/ipvs/reader.ts'

// oxlint-disable-next-line node/no-process-env -- a program of its own
const fd = descriptorOf(process.env['FULCRUM_GENETLINK'])
if (fd === undefined) throw new Error('there is no socket: start it with systemd/notify-exec')
const reader = new IpvsReader(descriptorChannel(fd))
const began = performance.now()
const failure = reader.read()
const took_ms = performance.now() - began
process.stdout.write(`${JSON.stringify({ failure: failure ?? null, took_ms, services: reader.table.entries() })}\n`)
