import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { noBrowser, openedPage } from '../fixtures/browser.ts'
import { type Daemon, daemonFixture, PASSWORD } from '../fixtures/daemon.ts'
import { oidcProvider } from '../simulators/oidc-provider.ts'
import { requestIdOf, samlProvider } from '../simulators/saml-provider.ts'

/** Logins at an identity provider that begin at the page: they end there, logged in, without a pasted code. */

const JANE = { email: 'jane@example.org', firstname: 'Jane', lastname: 'Doe', password: PASSWORD, disabled: 'false' }

async function withJane(test: Test): Promise<Daemon> {
  const daemon = await daemonFixture(test)
  const { id } = await daemon.data('POST', '/localUsers/users', JANE)
  const [{ id: role }] = await daemon.data('GET', '/rbac/roles?name=Administrator')
  const { name, endpoints, groups, users } = await daemon.data('GET', `/rbac/roles/${role}`)
  await daemon.data('PUT', `/rbac/roles/${role}`, { name, endpoints, groups, users: [...users, id] })
  return daemon
}

const viaOf = async (page: Page): Promise<readonly string[]> => {
  await page.goto(`${new URL(page.url()).origin}/#/account`)
  await page.waitForSelector('main h1')
  return page.locator('main').allInnerTexts()
}

t.test('by OpenID Connect, and back to the requested page', { skip: noBrowser }, async (test) => {
  const provider = await oidcProvider(test)
  const daemon = await withJane(test)
  const baseUrl = `https://127.0.0.1:${daemon.port}`
  await daemon.data('PUT', '/oidc/config', { ...provider.config, baseUrl })
  await daemon.data('PUT', '/services/apply')
  const { page, faults } = await openedPage(test, daemon.port)
  const seen: string[] = []
  page.on('framenavigated', () => void seen.push(page.url()))
  await page.goto(`${baseUrl}/#/changes/audit`)
  await page.click('a:has-text("Single sign-on")')
  await page.waitForSelector('.menu a:has-text("Changes")[aria-current=page]')
  test.equal(page.url(), `${baseUrl}/#/changes/audit`)
  const code = /#sso=([\w-]+)&via=oidc$/.exec(seen.find((url) => url.includes('#sso=')) ?? '')?.[1] ?? ''
  test.equal(code.length, 43, 'the code arrived in the address')
  await page.goBack()
  await page.goForward()
  await page.waitForSelector('.menu')
  test.notOk(page.url().includes(code), 'the code is no longer in the address')
  await page.reload()
  await page.waitForSelector('.menu')
  test.match((await viaOf(page)).join(), /jane@example\.org/)

  const other = await openedPage(test, daemon.port)
  await other.page.click('a:has-text("Single sign-on")')
  await other.page.waitForSelector('.menu')
  test.match((await daemon.call('POST', '/oidc/token', { body: { code }, token: '' })).status, 401, 'the code is used')
  test.same(
    [...faults, ...other.faults].filter((fault) => !fault.includes(provider.issuer)),
    [],
  )
})

t.test('an address with a foreign code opens nothing', { skip: noBrowser }, async (test) => {
  const provider = await oidcProvider(test)
  const daemon = await withJane(test)
  const baseUrl = `https://127.0.0.1:${daemon.port}`
  await daemon.data('PUT', '/oidc/config', { ...provider.config, baseUrl })
  await daemon.data('PUT', '/services/apply')
  const attacker = await openedPage(test, daemon.port)
  // The code is intercepted before the page has it.
  const caught = new Promise<string>((resolve) => {
    void attacker.page.route('**/api/v1/oidc/token', async (route) => {
      resolve((route.request().postDataJSON() as { code: string }).code)
      await route.abort()
    })
  })
  await attacker.page.click('a:has-text("Single sign-on")')
  const code = await caught
  const victim = await openedPage(test, daemon.port)
  await victim.page.goto('about:blank')
  await victim.page.goto(`${baseUrl}/#sso=${code}&via=oidc`)
  await victim.page.waitForSelector('.problem:has-text("The code is wrong")')
  test.equal(victim.page.url(), `${baseUrl}/`)
  test.equal(await victim.page.locator('.menu').count(), 0)
})

t.test('by SAML, also where the session has ended and a form was filled in', { skip: noBrowser }, async (test) => {
  const provider = await samlProvider(test)
  const daemon = await withJane(test)
  const baseUrl = `https://127.0.0.1:${daemon.port}`
  await daemon.data('PUT', '/saml/config', { ...provider.config, baseUrl })
  await daemon.data('PUT', '/services/apply')
  const { page } = await openedPage(test, daemon.port)
  // The identity provider knows the user, and posts its answer by a form, as such providers do.
  await page.context().route('https://idp.example.test/sso?*', async (route) => {
    const response = provider.response({ inResponseTo: requestIdOf(route.request().url()), baseUrl })
    const field = `<input type="hidden" name="SAMLResponse" value="${response}">`
    const form = `<form method="post" action="${baseUrl}/api/v1/saml/acs">${field}</form>`
    await route.fulfill({
      contentType: 'text/html',
      body: `<!doctype html>${form}<script>document.forms[0].submit()</script>`,
    })
  })
  await page.click('a:has-text("Single sign-on")')
  await page.waitForSelector('.menu')
  test.equal(page.url(), `${baseUrl}/`)
  const sessions = async () => {
    const all = await daemon.data('GET', '/localUsers/sessions')
    return all.filter(({ via }: { via: string }) => via === 'saml')
  }
  const [{ id }] = await sessions()

  await page.goto(`${baseUrl}/#/servers`)
  await page.click('.page-head button:has-text("New server")')
  await page.fill('.dialog input >> nth=0', 'typed before')
  await daemon.data('DELETE', `/localUsers/sessions/${id}`)
  const [tab] = await Promise.all([
    page.context().waitForEvent('page'),
    page.click('dialog.locked a:has-text("Single sign-on")'),
  ])
  await tab.waitForSelector('.menu')
  await page.bringToFront()
  await page.evaluate("dispatchEvent(new Event('focus'))")
  await page.waitForSelector('dialog.locked', { state: 'detached' })
  test.equal(await page.inputValue('.dialog input >> nth=0'), 'typed before')
  test.equal((await sessions()).length, 1)
})

t.test(
  'a refused login ends at the page with a sentence, in the language of the page',
  { skip: noBrowser },
  async (test) => {
    const [oidc, saml] = [await oidcProvider(test), await samlProvider(test)]
    const daemon = await withJane(test)
    const baseUrl = `https://127.0.0.1:${daemon.port}`
    await daemon.data('PUT', '/oidc/config', { ...oidc.config, baseUrl })
    await daemon.data('PUT', '/saml/config', { ...saml.config, baseUrl })
    await daemon.data('PUT', '/services/apply')
    const { page, faults } = await openedPage(test, daemon.port)
    // One vouches for another program, the other posts an unsigned answer.
    oidc.told.claims = { aud: 'another' }
    await page.context().route('https://idp.example.test/sso?*', async (route) => {
      const form = `<form method="post" action="${baseUrl}/api/v1/saml/acs"><input name="SAMLResponse" value="bm8="></form>`
      const body = `<!doctype html>${form}<script>document.forms[0].submit()</script>`
      await route.fulfill({ contentType: 'text/html', body })
    })
    await page.goto(`${baseUrl}/#/servers`)
    await page.click('a:has-text("Single sign-on with OpenID Connect")')
    await page.waitForSelector('[role=alert]:has-text("The identity provider did not confirm your identity")')
    test.equal(page.url(), `${baseUrl}/#/servers`, 'and at the requested page')
    await page.evaluate(`localStorage.setItem('language', 'de')`)
    await page.click('a:text-is("Single sign-on")')
    await page.waitForSelector('[role=alert]:has-text("Der Identitätsanbieter hat Ihre Identität nicht bestätigt")')
    test.equal(page.url(), `${baseUrl}/#/servers`)
    await daemon.data('PUT', '/saml/config', { enabled: false })
    await daemon.data('PUT', '/services/apply')
    await page.click('a:text-is("Single Sign-on")')
    await page.waitForSelector('[role=alert]:has-text("Single Sign-on ist hier nicht eingerichtet.")')
    await page.goto('about:blank')
    await page.goto(`${baseUrl}/#refused=<b>Call+0800</b>&by=evil`)
    await page.waitForSelector('[role=alert]:has-text("hat Ihre Identität nicht bestätigt")')
    test.notMatch(await page.innerText('body'), /0800/)
    test.equal(page.url(), `${baseUrl}/#/servers`)
    test.same(
      faults.filter((fault) => !/idp\.example|openid/.test(fault) && !fault.includes(oidc.issuer)),
      [],
    )
  },
)
