import type { AcmeAccount, AcmeOrder } from '../model/acme.ts'
import type { ConfigView } from '../model/sections.ts'

export interface AcmeReader {
  /** Why a directory must not be there, in words that follow a field; undefined where it may. */
  whyRefused(directoryUrl: string): string | undefined
  /** Why a CA would get no answer, in words that follow a field; undefined when it gets one. */
  whyUnanswered(view: ConfigView, account: AcmeAccount, order: Pick<AcmeOrder, 'challenge'>): string | undefined
}
export interface AcmeActor extends AcmeReader {
  /** Renews a certificate as soon as may be, whatever failed before; refuses an order that was not applied. */
  renew(orderId: string): Promise<void>
}
