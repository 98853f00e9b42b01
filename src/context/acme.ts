import type { AcmeAccount, AcmeOrder } from '../model/acme.ts'
import type { ConfigView } from '../model/sections.ts'

export interface AcmeReader {
  /** Returns why the directory must not be at this address, in words that follow a field; undefined if it may. */
  whyRefused(directoryUrl: string): string | undefined
  /** Returns why the CA would get no answer, in words that follow a field; undefined if it would. */
  whyUnanswered(view: ConfigView, account: AcmeAccount, order: Pick<AcmeOrder, 'challenge'>): string | undefined
}
export interface AcmeActor extends AcmeReader {
  /** Renews a certificate as soon as possible, despite earlier failures; refuses an order that was not applied. */
  renew(orderId: string): Promise<void>
}
