/** What the page says of alerts. */
export const germanOfAlerts: Readonly<Record<string, string>> = {
  Alerts: 'Alarme',
  'New rule': 'Neue Regel',
  'New target': 'Neues Ziel',
  'No rule yet.': 'Noch keine Regel.',
  'No target yet.': 'Noch kein Ziel.',
  'Nothing fires.': 'Nichts schlägt an.',
  Rule: 'Regel',
  Rules: 'Regeln',
  Silence: 'Stummschalten',
  Target: 'Ziel',
  Targets: 'Ziele',
  'What fires, what is looked for, and who is told.': 'Was anschlägt, worauf geachtet wird und wer es erfährt.',
  silenced: 'stumm',
  'Nothing is looked for: that takes a rule.': 'Es wird auf nichts geachtet: dazu braucht es eine Regel.',
  'A rule says what to look for, such as a server that is down, and which targets hear of it.':
    'Eine Regel sagt, worauf geachtet wird, etwa einen gestörten Server, und welche Ziele davon erfahren.',
  'A target is where messages go: mail, a webhook or chat, syslog, SNMP.':
    'Ein Ziel ist, wohin Meldungen gehen: E-Mail, ein Webhook oder Chat, Syslog, SNMP.',
  'All alerts': 'Alle Alarme',
  'End the silence of {name}': 'Stummschaltung von {name} beenden',
  'Nothing is silenced.': 'Nichts ist stummgeschaltet.',
  Silences: 'Stummschaltungen',
}
