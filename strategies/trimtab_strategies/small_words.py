"""Words that carry no subject: grammar, greetings and assent, in the languages most chats are held in.

Rarity does most of the sorting in any language; this list helps where a conversation is too short for that.
"""

from __future__ import annotations

_GRAMMAR = """
    a about after again all also am an and any are as at back be because been before but by can could did do does
    doing don down even for from get go going got had has have he her here him his how if in into is isn it its
    just know let like make maybe me more much my need no not now of off on one only or our out over really said
    say see she should so some still than that the their them then there these they thing things think this those
    to too up us very want was way we well were what when where which while who why will with would you your yours
    ll re ve user assistant tool called

    ao aos aqui as ate até bem cada com como da das de dela dele depois do dos e ela elas ele eles em entao então
    era essa esse esta estar este estou está estão eu foi isso isto já la lá lhe mais mas me mesmo meu minha muito
    na nas nem no nos nossa nosso não num numa o os ou para pela pelo por porque pra qual quando que quem se sem
    ser seu sua só são também tem tenho ter teu tua tudo um uma vai vamos ver você vocês vou à às é

    al algo con cual del desde donde el ella ellos en era es eso esta este esto está ha hace hay la las le les lo
    los muy más ni nos otra otro pero puede que qué se si sin sobre su sus también te tiene un una uno y ya yo

    au aussi aux avec avez bien ce ces cette dans des du elle en est et être fait il ils je la le les leur lui ma
    mais mes moi mon ne nos notre nous on ont ou où par pas peut plus pour qu que qui sa sans ses si son sont sur
    ta te tout très tu un une va vos votre vous

    aber als am an auch auf aus bei bin bis da das dass dem den der des die dir doch du ein eine einem einen einer
    er es für haben hat ich ihr im in ist ja kann man mein mich mir mit nach nicht noch nur oder schon sehr sich
    sie sind so um und uns von war was wenn werden wie wir wird zu zum zur über

    che chi ci con da dal dei del della di e gli ha ho il io la le lei lo lui ma mi nel non per più sono su sul
    tra un una uno voi è

    的 了 是 我 你 他 她 它 们 在 有 和 就 不 人 都 一 这 那 也 很 到 说 要 去 会 着 没 看 好 吗 吧 呢 啊 把 被 让
    给 跟 对 从 我们 你们 他们 这个 那个 一个 什么 怎么 没有 可以 就是 不是 还是 因为 所以 如果 但是 然后 现在 一下
    の に は を た が で て と し れ さ です ます した から まで する ある いる こと それ これ
"""
_COURTESY = """
    absolutely agreed alright bye cheers course dear exactly fine glad good goodbye great greetings haha hello help
    hey hi hmm indeed interesting kind lol lot lovely luck morning nice nope oh ok okay perfect please pleasure
    right sorry sounds sure thank thanks true understood welcome wonderful wow yeah yep yes

    adeus agradeço alô beleza boa bom certo claro combinado desculpa desculpe dia exato favor legal obrigada
    obrigado oi olá ótima ótimo perfeito prazer sim tarde tchau tudo valeu verdade

    adiós bueno gracias hola perfecto perdón sí vale bonjour accord merci oui salut danke hallo bitte genau gut
    tschüss ciao grazie prego

    你好 您好 谢谢 多谢 感谢 再见 好的 好啊 没错 不错 当然 对的 明白 知道 太好 好了 是的 没问 问题 请问 不客 客气
    ありがとう こんにちは はい
"""

SMALL_WORDS = frozenset(_GRAMMAR.split()) | frozenset(_COURTESY.split())
"""Terms, as `terms` gives them, that say nothing about the subject."""
