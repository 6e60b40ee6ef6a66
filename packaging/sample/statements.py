"""The data files of the demonstration project: rates, a household journal, statements of three banks. All invented."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

from sample.dice import Dice

FIRST, LAST = date(2025, 10, 27), date(2026, 2, 27)
START_RATES = {
    "USD": "1.1632",
    "GBP": "0.8741",
    "JPY": "177.90",
    "HUF": "389.15",
    "CNY": "8.2810",
    "CHF": "0.9262",
    "BHD": "0.4385",
    "PLN": "4.2402",
    "SEK": "10.9240",
    "CZK": "24.318",
}


def data_files() -> dict[str, bytes]:
    """Path in the project -> content."""
    return {
        "data/rates.csv": _rates().encode(),
        "data/household.ledger": _journal().encode(),
        "data/statements/nordbank-2025-11.csv": _nordbank().encode("latin-1"),
        "data/statements/riverside-2025-11.csv": _riverside().encode(),
        "data/statements/alipay-2025-11.csv": _alipay().encode("gb18030"),
        "data/rules.zh.txt": RULES.encode(),
    }


def _days() -> Iterator[date]:
    day = FIRST
    while day <= LAST:
        yield day
        day += timedelta(days=1)


def _rates() -> str:
    dice, rates = Dice("rates"), {code: Decimal(rate) for code, rate in START_RATES.items()}
    lines = ["date,base,quote,rate"]
    for day in _days():
        if day.weekday() >= 5:
            continue
        for code, rate in rates.items():
            moved = rate * (1 + Decimal(dice.between(-45, 45)) / 10_000)
            rates[code] = moved.quantize(Decimal(START_RATES[code]))
            lines += _typed(day, code, rates[code])
    return "\n".join(lines) + "\n"


def _typed(day: date, code: str, rate: Decimal) -> list[str]:
    """The line of a rate, with the mistakes of three people who type."""
    match (day.isoformat(), code):
        case ("2026-01-15", "GBP"):
            return []
        case ("2025-12-18", "PLN"):
            return [f"{day},EUR,{code},{rate * 10}"]
        case ("2025-12-11", "SEK"):
            return [f"{day},EUR,{code},{rate}", f"{day},EUR,{code},{rate + Decimal('0.1')}"]
    return [f"{day},EUR,{code},{rate}"]


SHOPS = [
    ("Markthalle", "expenses:food:market", 480, 4_200),
    ("Bioladen am Kanal", "expenses:food:groceries", 900, 7_800),
    ("Backhaus Sonne", "expenses:food:bakery", 210, 1_150),
    ("Café Zweimeter", "expenses:food:restaurant", 390, 2_400),
    ("Stadtverkehr Abo", "expenses:transport:public", 6_300, 6_300),
    ("Fernbahn", "expenses:transport:train", 1_990, 14_900),
    ("Buchhandlung Lesezeichen", "expenses:books", 1_200, 5_600),
    ("Stadtwerke Strom", "expenses:home:electricity", 5_840, 6_710),
    ("Apotheke am Markt", "expenses:health", 495, 3_880),
    ("Kita-Gutschein Mittagessen", "expenses:children:kita", 2_300, 2_300),
    ("Hofladen Wiesengrund", "expenses:food:groceries", 1_850, 6_400),
    ("Kino Aurora", "expenses:culture", 950, 2_900),
]
ABROAD = [
    ("Alder Street Books", "USD", "expenses:books", 899, 9_450, "0.8611"),
    ("Northern Trains", "GBP", "expenses:transport:train", 1_240, 11_800, "1.1377"),
    ("Keleti büfé", "HUF", "expenses:food:restaurant", 145_000, 890_000, "0.0025815"),
    ("Kyoto Rail Pass", "JPY", "expenses:transport:train", 700, 5_000, "0.0055731"),
    ("Rheinmarkt Basel", "CHF", "expenses:food:groceries", 640, 8_230, "1.0824"),
    ("Hangzhou book dealer", "CNY", "expenses:books", 3_900, 46_800, "0.120915"),
    ("Kolej Express", "PLN", "expenses:transport:train", 4_900, 18_900, "0.236128"),
]


def _journal() -> str:
    dice, blocks = (
        Dice("journal"),
        ["; Household journal, winter 2025/26. Everything in it is invented.\n"],
    )
    for day in _days():
        if day.day == 1:
            blocks.append(_block(day, "Rent", "expenses:home:rent", "1180.00 EUR"))
        if day.day == 28:
            blocks.append(
                _block(
                    day,
                    "Salary Werkstatt GmbH",
                    "assets:bank:checking",
                    "3210.40 EUR",
                    "income:salary",
                )
            )
        bought = range(dice.choice((0, 1, 1, 1, 2)))
        blocks.extend(
            _shopping(dice, day) if dice.between(0, 4) > 1 else _abroad(dice, day) for _ in bought
        )
    return "\n".join(blocks)


def _shopping(dice: Dice, day: date) -> str:
    payee, account, low, high = dice.choice(SHOPS)
    cents = dice.between(low, high)
    paid = dice.choice(("assets:bank:checking", "assets:cash", "liabilities:card"))
    return _block(day, payee, account, f"{cents // 100}.{cents % 100:02} EUR", paid)


def _abroad(dice: Dice, day: date) -> str:
    payee, code, account, low, high, rate = dice.choice(ABROAD)
    units = dice.between(low, high)
    amount = f"{units} {code}" if code == "JPY" else f"{units // 100}.{units % 100:02} {code}"
    account = dice.choice((account, account, "expenses:travel", "expenses:gifts"))
    if dice.between(0, 1):
        return _block(day, payee, account, amount, "assets:cash:abroad")
    return _block(day, payee, account, f"{amount} @ {rate} EUR", "liabilities:card")


def _block(
    day: date, payee: str, account: str, amount: str, other: str = "assets:bank:checking"
) -> str:
    return f"{day} * {payee}\n    {account:<34}  {amount}\n    {other}\n"


def _nordbank() -> str:
    dice = Dice("nordbank")
    lines = [
        '"Umsatzanzeige";"Kontonummer: DE00 1234 5678 9000 0000 00"',
        '"Zeitraum: 01.11.2025 - 30.11.2025"',
        "",
        '"Buchungstag";"Wertstellung";"Vorgang";"Auftraggeber/Empfänger";"Verwendungszweck";"Saldo";"Betrag";"Währung"',
    ]
    balance = 412_337
    for number in range(118):
        day = date(2025, 11, 1 + number * 30 // 118)
        payee, _, low, high = dice.choice(SHOPS)
        cents = -dice.between(low, high) if number != 96 else 321_040
        balance += cents
        what = f"{dice.choice(('Kartenzahlung', 'Lastschrift', 'SEPA-Überweisung'))}"
        reference = dice.word("0123456789ABCDEF", 12)
        place = dice.choice(("BERLIN", "POTSDAM", "ONLINE"))
        purpose = f"{payee.upper()} REF {reference} {place}"
        if number == 96:
            what, payee, purpose = "Gutschrift", "Werkstatt GmbH", "GEHALT NOVEMBER 2025"
        cells = (
            day.strftime("%d.%m.%Y"),
            (day + timedelta(days=number % 3)).strftime("%d.%m.%Y"),
            what,
            payee,
            purpose,
        )
        lines.append(
            ";".join(f'"{cell}"' for cell in (*cells, _comma(balance), _comma(cents), "EUR"))
        )
    return "\r\n".join(lines) + "\r\n"


def _comma(cents: int) -> str:
    whole = f"{abs(cents) // 100:,}".replace(",", ".")
    return f"{'-' if cents < 0 else ''}{whole},{abs(cents) % 100:02}"


def _riverside() -> str:
    dice = Dice("riverside")
    lines = ["Date,Description,Debit,Credit,Balance,Check Number"]
    shops = (
        "ALDER STREET BOOKS",
        "CITY TRANSIT HOP",
        "RIVER COFFEE",
        "HOME GOODS 0041",
        "POWER & LIGHT AUTOPAY",
        "GREEN SEASONS MKT",
    )
    balance = 284_190
    for number in range(96):
        day = date(2025, 11, 1 + number * 30 // 96)
        cents = dice.between(250, 14_800)
        refund = number % 23 == 22
        balance += cents if refund else -cents
        debit, credit = ("", _point(cents)) if refund else (_point(cents), "")
        what = f"{dice.choice(shops)} {dice.word('0123456789', 8)} OR"
        check = dice.word("123456789", 4) if number % 17 == 3 else ""
        lines.append(
            f'{day.strftime("%m/%d/%Y")},"{what}",{debit},{credit},"{balance / 100:,.2f}",{check}'
        )
    return "\n".join(lines) + "\n"


def _point(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


SELLERS = [
    ("快行出租", "交通出行", "快车-上海", 1_250, 6_800),
    ("鲜丰超市", "餐饮美食", "鲜丰超市(大宁店)购物", 2_390, 26_000),
    ("上海市电力公司", "生活缴费", "电费自动缴费", 8_800, 23_400),
    ("上海地铁", "交通出行", "乘车码-地铁扣费", 300, 900),
    ("山海书店", "文教娱乐", "图书;《算盘与账本》等2件", 3_600, 21_000),
    ("山丘咖啡", "餐饮美食", "生椰拿铁 大杯", 990, 3_200),
    ("木言家居", "家居家装", "实木书架 三层 原木色", 12_900, 69_900),
    ("老街牛肉面馆", "餐饮美食", "外卖订单-牛肉面", 1_680, 7_900),
    ("话费充值中心", "充值缴费", "手机话费充值 50元", 5_000, 5_000),
    ("海外书店", "文教娱乐", "境外交易 USD 23.99", 17_040, 17_040),
    ("田园配送", "餐饮美食", "生鲜蔬菜配送订单", 2_100, 15_600),
    ("共享单车", "交通出行", "骑行月卡", 1_500, 2_500),
]
METHODS = ("余额宝", "江海银行储蓄卡(6688)", "花呗", "余额")


def _alipay() -> str:
    dice = Dice("alipay")
    lines = [
        "------------------------------------------------------------------------------------",
        "导出信息：",
        "姓名：演示用户",
        "支付宝账户：demo@example.com",
        "起始时间：[2025-11-01 00:00:00]    终止时间：[2025-11-30 23:59:59]",
        "导出交易类型：[全部]",
        "导出时间：[2025-12-01 09:12:45]",
        "共168笔记录",
        "特别提示：",
        "1.本回单内容可表明支付宝受理了相应支付交易申请，不代表交易的最终结果；",
        "2.本数据为软件演示而编造，与任何真实的人、商家和账户无关；",
        "3.部分账单如充值提现、账户转存或者个人设置收支等不计入收支汇总；",
        "------------------------支付宝支付科技有限公司  电子客户回单------------------------",
        "交易时间,交易分类,交易对方,对方账号,商品说明,收/支,金额,收/付款方式,交易状态,交易订单号,商家订单号,备注,",
    ]
    lines.extend(_alipay_line(dice, number) for number in range(168))
    return "\n".join(lines) + "\n"


def _alipay_line(dice: Dice, number: int) -> str:
    day = 30 - number * 30 // 168
    seller, kind, what, low, high = dice.choice(SELLERS)
    cents, sign, state = dice.between(low, high), "支出", "交易成功"
    method = dice.choice(METHODS)
    if number % 19 == 7:
        seller, kind, what, sign, method = (
            "余额宝",
            "投资理财",
            "余额宝-自动转入",
            "不计收支",
            "余额",
        )
    elif number % 29 == 11:
        what, sign, state = f"退款-{what}", "不计收支", "退款成功"
    elif number % 41 == 13:
        state, sign = "交易关闭", "不计收支"
    elif number % 37 == 5:
        seller, kind, what, sign, method = "林小满", "转账红包", "转账", "收入", ""
    time = f"2025-11-{day:02} {dice.between(7, 23):02}:{dice.between(0, 59):02}:{dice.between(0, 59):02}"
    order = f"202511{day:02}22001{dice.word('0123456789', 15)}"
    shop = f"T200P{dice.word('0123456789', 16)}"
    return f"{time},{kind},{seller},/,{what},{sign},{_point(cents)},{method},{state},{order}\t,{shop}\t,,"


RULES = """\
# 条件                          科目
payee ~ 快行|出租            expenses:transport:taxi
payee ~ 地铁|单车                expenses:transport:public
category = 餐饮美食              expenses:food
payee = 上海市电力公司        expenses:home:electricity
payee ~ 书店                     expenses:books
payee = 话费充值中心                 expenses:phone
category = 家居家装              expenses:home:furniture
method ~ 花呗                    liabilities:huabei
method ~ 江海银行                assets:bank:jianghai
method ~ 余额                    assets:alipay
"""
