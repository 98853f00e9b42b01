import { writeSync } from 'node:fs'

/** The notification socket and watchdog interval that systemd passes to a service of Type=notify. */
export interface NotifyEnvironment {
  /**
   * `fd:N`: the descriptor that systemd/notify-exec connected, since Node cannot open a Unix datagram socket itself.
   */
  readonly NOTIFY_SOCKET?: string | undefined
  readonly WATCHDOG_USEC?: string | undefined
}

export interface Notifier {
  /** Start-up is complete; units that wait for this one start. */
  ready(status: string): void
  /** Sets the line for `systemctl status`. */
  status(text: string): void
  stopping(): void
  /**
   * Pings at half the watchdog's interval while `isHealthy` returns true; without pings systemd kills and restarts the
   * service.
   */
  startWatchdog(isHealthy: () => boolean): void
  close(): void
}

/** Writes one datagram to a descriptor: node:fs, or a test. */
export type WriteDatagram = (fd: number, datagram: string) => unknown

const STATUS_LENGTH_MAX = 200

/** Creates the notifier. Without a socket (on every start outside the unit) all its methods do nothing. */
export function createNotifier(env: NotifyEnvironment, write: WriteDatagram = writeSync): Notifier {
  const fd = descriptor(env.NOTIFY_SOCKET)
  const interval_ms = watchdogInterval_ms(env.WATCHDOG_USEC)
  let timer: NodeJS.Timeout | undefined
  const send = (...lines: readonly string[]) => {
    if (fd === undefined) return
    try {
      write(fd, lines.join('\n'))
    } catch {
      // The socket is full (EAGAIN) or gone (systemd stopped first): a lost line must not crash the daemon; another
      // ping follows.
    }
  }
  const close = () => {
    clearInterval(timer)
    timer = undefined
  }
  return {
    ready: (status) => send('READY=1', statusLine(status)),
    status: (text) => send(statusLine(text)),
    stopping: () => send('STOPPING=1', statusLine('Stopping')),
    startWatchdog: (isHealthy) => {
      if (fd === undefined || interval_ms === undefined) return
      close()
      const ping = () => isHealthy() && send('WATCHDOG=1')
      ping()
      timer = setInterval(ping, interval_ms)
      timer.unref()
    },
    close,
  }
}

function descriptor(socket: string | undefined): number | undefined {
  const digits = /^fd:(\d{1,4})$/.exec(socket ?? '')?.[1]
  return digits === undefined ? undefined : Number(digits)
}

function watchdogInterval_ms(usec: string | undefined): number | undefined {
  const timeout_ms = Number(usec) / 1000
  return timeout_ms > 0 ? Math.max(1, Math.floor(timeout_ms / 2)) : undefined
}

/** Returns the status in one line: a line feed would start another assignment of the protocol. */
function statusLine(text: string): string {
  return `STATUS=${text.replaceAll(/[\r\n]+/g, ' ').slice(0, STATUS_LENGTH_MAX)}`
}
