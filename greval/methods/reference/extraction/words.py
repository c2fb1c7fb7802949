"""Closed lists of English words by which the rules decide what is a name, what is a verb and what is neither."""

from __future__ import annotations


def read_words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


MONTHS = read_words(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep sept oct nov dec
    """
)

WEEKDAYS = read_words(
    """
    monday tuesday wednesday thursday friday saturday sunday
    mondays tuesdays wednesdays thursdays fridays saturdays sundays
    """
)

NATIONALITIES = read_words(
    """
    afghan african albanian algerian american anglo arab arabian argentine argentinian armenian asian australian
    austrian azerbaijani bangladeshi basque belgian bengali bolivian bosnian brazilian british bulgarian burmese
    byzantine cambodian canadian catalan caucasian chilean chinese christian colombian croatian cuban cypriot
    czech danish dutch ecuadorian egyptian english estonian ethiopian european filipino finnish flemish french
    georgian german ghanaian greek hebrew hindu hispanic hungarian icelandic indian indonesian iranian iraqi irish
    islamic israeli italian jamaican japanese jewish jordanian kenyan korean kurdish latin latvian lebanese libyan
    lithuanian malay malaysian mexican mongolian moroccan muslim nepalese nigerian norwegian ottoman pakistani
    palestinian persian peruvian philippine polish portuguese prussian punjabi roman romanian russian scandinavian
    scots scottish serbian singaporean slavic slovak slovenian somali soviet spanish sudanese swedish swiss syrian
    taiwanese tamil thai tibetan tunisian turkish ukrainian uruguayan venezuelan vietnamese welsh yugoslav afghans
    africans americans arabs asians australians austrians belgians brazilians canadians christians egyptians
    europeans germans greeks hindus hungarians indians italians jews mexicans muslims poles romans russians
    spaniards swedes turks catholic protestant catholics protestants northern southern eastern western
    """
)
"""Adjectives of countries, peoples and religions. On their own they are no entities: thousands of texts share them."""

NEVER_NAMES = read_words(
    """
    a an the this that these those such same other another any some all both each every either neither many much
    most more less few several various certain no not nor none i you he she it we they me him her us them my your
    his its our their mine yours hers ours theirs himself herself itself themselves who whom whose which what when
    where why how whether while whereas and or but so yet if unless although though because since as than then
    thus hence therefore however moreover furthermore nevertheless nonetheless meanwhile otherwise instead also
    too only even just still again already once twice ever never always often sometimes usually generally
    typically initially originally eventually finally recently currently formerly previously later earlier soon
    now today here there of in on at by for from to with without within into onto upon over under above below
    between among amongst through throughout during before after until till against about around across along
    behind beside besides beyond despite except inside like near off out outside per past regarding toward towards
    up down via versus following according due prior apart aside based given including together am is are was were
    be been being has have had do does did can could will would shall should may might must let one two three four
    five six seven eight nine ten eleven twelve hundred thousand million billion first second third fourth fifth
    sixth last next former latter new old own well very
    """
)
"""Words that are no names, however they are capitalised."""

STARTERS = read_words(
    """
    additional additionally advanced alternative alternatively ancient anyone anything apparently approximately
    approved articles ask asked attempts author authors awards back bad because become becomes behind believed
    best better big book books born both build built business businesses call called calls case cases cast central
    century change changes check chief children choose church cities city classes click close college coming
    common commonly community companies company compared computer consequently considered construction
    contemporary contents continued control conversely copies course create created critics current customers
    daily data day days death december define defined depending described design designed developed development
    different directed directors does early education elected elections elsewhere encouraged end engineers enter
    especially essentially established estimates evidence examples example expect experts external fans father
    features few file files film films find flights food form formed forms found founded frequently full
    furthermore further game games get go good government great group groups growing half head headquarters help
    high historians historically history home honours hotel house human ideally images important in-depth income
    increasingly indeed individual industry information inspired instruments international interestingly
    introduced issues items job joint journal just keep key know known language large largely late lead leaders
    learn left legend legislation less level life likewise limited links list listed literature little live local
    located long look looking love low made mainly major make makes making man management managers map marriage
    maybe meaning means media medical member members men middle military minister modern money month months mother
    movie movies much music musically named names natural nearby nearly news nice night north note notes notable
    notably nothing number numbers numerous occasionally officially older once online open operations opened order
    originally orders output overall owned owners page pages paper parents part particularly parts passengers
    people perhaps personnel place places plans play played players please plot plus point police political
    popular population possible possibly power practice presented present president prices primarily private
    probably problems production products professional professor programs project projects proponents published
    public put quite race radio rather read reading records reference references related released religion
    religious remains remember report reports research researchers residents results return returning returned
    review reviews rights river roads round royal rules run running sales say scenes schools school science
    scientists season see seen send set services set shares ships short show shows side similar similarly simply
    single sites situated size small social society software sold someone something song songs south special
    specifically sports staff starring started start state stations statistics step stop stories story strictly
    strong students studies study subsequently success support surely system systems take taken taking teachers
    team teams technically technology television terms test tests text texts thanks things think thousands time
    times title titles top total towns town tracks trade traditional traditionally trains training translated
    travel trees true try type types ultimately under unfortunately unit units university unknown unlike
    unsurprisingly upcoming use used users using usual value vehicles version versions video view village villages
    visitors voters wait wall want war warning water way ways week west whatever whenever wherever whoever white
    wife winners winning winter wins woman women word words work workers working works world worldwide write
    writers writing written year years yes young see plot cast background career biography etymology overview
    synopsis legacy reception personal geography demographics economy climate culture awards soundtrack
    discography filmography bibliography notes chapter section table figure part volume
    """
)
"""Common words that begin sentences and headings. On its own there, one is a name only if the text says so."""

GENERIC_NAMES = read_words(
    """
    academy act air airport army association avenue band bank bay board bridge building bureau camp canal captain
    castle cathedral center centre champions championship championships chapter church city club coast college
    colonel commission committee commonwealth company conference congress constitution corporation council count
    county court creek crown cup day democrats department director district division doctor duke east emperor
    empire family federal federation festival fort foundation general god government governor grand group hall
    high hill hills hospital hotel house institute institution internet island islands judge king kingdom lady
    lake league library lieutenant lord major mayor member minister ministry mount mountain mountains museum
    national navy north northeast northwest office palace parish park parliament party police pope premier
    president prince princess professor province queen railway region republic republicans river road royal saint
    school sea secretary senate senator sergeant series society south southeast southwest square station street
    supreme team theater theatre tower town township trust union university valley village war west world emmy
    oscar prime vice deputy supreme chief no. vol. english-language n/a
    """
)
"""Words that are capitalised as parts of names and are no names on their own."""

INSTITUTIONS = read_words(
    """
    academy association board bureau centre center college commission committee council department faculty
    federation institute journal ministry minister museum office school secretary society union
    """
)
"""Words whose name may go on behind an "and": the Department of Health and Human Services."""

OWNED_PLACES = read_words(
    """
    academy army association bay cathedral cay championship championships chapel church club college cottage court
    cove creek cross cup day gate guild hall hospital house island league national open park party peak point
    prize republic rights river road row school society festival museum institute commission committee conference
    square street team theatre theater tour union university world
    """
)
"""Words that stay together with a possessive in front of them: King's College, the People's Republic."""

HONORIFICS = read_words(
    """
    mr mrs ms miss dr prof professor sir dame mr. mrs. ms. dr. prof. rev. hon.
    """
)

ROLES = read_words(
    """
    king queen emperor empress pope president senator governor congressman congresswoman colonel sergeant
    lieutenant premier chancellor sultan minister representative secretary archbishop bishop admiral mayor
    ambassador leader
    """
)
"""Words in front of the name of a person that are no part of it."""

CONNECTORS = read_words(
    """
    of the for de del della der den di da do dos das du des la las le les los van von zu zum zur ten ter te bin
    ibn ben al el upon y af av & vom und et
    """
)
"""Words in lower case that may be inside of a name."""

PRONOUNS = read_words(
    """
    he she it they his her its their hers him
    """
)
PERSON_PRONOUNS = read_words(
    """
    he she his her him hers
    """
)

AUXILIARIES = read_words(
    """
    is are was were be been being am has have had having do does did can could will would shall should may might
    must cannot isn't wasn't aren't weren't doesn't don't didn't hasn't haven't hadn't won't can't couldn't
    wouldn't
    """
)

VERBS = read_words(
    """
    adapt adapts aired allow allows appear appears ask asks beat beats became become becomes began begin begins
    belong belongs borders bought bring brings broke brought build builds built buys call calls came chose come
    comes comprises connect connects contain contains contested covers cover cross crosses cut depend depends
    describe describes did die dies drew drove ended enter enters extend extends fall falls features fed fell fled
    flew flow flows follow follows fought found gave get gets give gives go goes got grew grow grows hear hears
    held help helps hit hold holds import imports include includes join joins keep keeps kept killed knew know
    known knows lead leads learn learns learnt led left lend lends lent lie lies live lives log logs lose loses
    lost love loves hate hates made make makes mean means meant meet meets met moves need needs open opens own
    owns paid pass passes pays plays play portrays produces provide provides publish publishes ran reach reaches
    read reads rebuilt receive receives record records refer refers remain remains replaces reports represent
    represents require requires rises rose run runs sang saw say says seen sees sell sells send sends sent serve
    serves set sets shares shot shows sings sits sold speak speaks spent spoke spoken stand stands stars starts
    stood store stores struck sung support supports take taken takes taught teaches think thought took turn turns
    understood use uses went win wins won wore work works worn write writes written wrote starring featuring
    including born cast laid hung put shown thrown drawn given grown chosen overseen directing producing serving
    playing using making becoming leading following owning running winning writing calling owed praise praises
    complain complains
    """
) | {"tells", "told", "lasts", "lasted"}
"""Verb forms that no ending shows."""

NO_VERBS = read_words(
    """
    red bed seed speed need shed sacred hundred indeed breed feed naked wicked rugged aged
    """
)
"""Words that end like a verb in the past and are none."""

DETERMINERS = read_words(
    """
    a an the this that these those its his her their
    """
)

COMPOUND_TAILS = read_words(
    """
    known based like born time year old winning selling term level wide free related speaking language led style
    size scale class range hand run made owned day week month long short high low end up off out in down back on
    to by air line life half profile quality century person man woman reviewed published called named style
    oriented specific driven handed minded aged held rated grossing ranking friendly ready built designated point
    game season story mile foot meter metre kilometre hour minute second dimensional
    """
)
COMPOUND_HEADS = read_words(
    """
    well non co self semi ex re pre post anti multi inter mid half full high low long short best first second
    third one two three four five six seven eight nine ten double single cross open close so all then now vice
    father mother sister brother son daughter would never follow world large small left right early late off on up
    real mass part old new free hard soft front back top bottom much most least state sub super ultra under over
    out counter middle twenty thirty forty fifty sixty seventy eighty ninety
    """
)
"""First and last parts of compounds with hyphens that are ordinary adjectives and no identifiers."""

LINKING_VERBS = read_words(
    """
    calls asks reads uses owns imports extends queries requires wraps replaces feeds notifies triggers call ask
    read use import extend query require wrap replace calling asking reading using
    """
)
"""Verbs that have a component of a system as their object."""

PLACE_HEADS = read_words(
    """
    new north south east west northern southern eastern western great greater upper lower old central san santa
    saint st. fort mount lake los las port el la le the cape little big inner outer grand royal united world
    """
)
"""First words of names of places whose last word is another place: New York is not York."""

NO_PLURALS = read_words(
    """
    series species news lens mars venus james charles jones williams adams rogers peters phillips hughes davies
    andrews stones edwards roberts richards stevens stephens matthews wales thames athens brussels naples angeles
    cannes versailles netherlands philippines states nations olympics games times simmons simpsons sanders
    saunders collins jenkins watkins hawkins dickens perkins robbins hopkins parsons evans owens lyons burns
    jacobs daniels reynolds brooks banks wells woods fields waters rivers hills myers powers bowers sachs marks
    aries movies cookies rookies zombies calories always perhaps premises politics mathematics physics
    headquarters ros dos ios aws
    """
)
"""Words with an "s" at their end that are no plurals, most of them names."""
